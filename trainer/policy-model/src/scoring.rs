//! A decoder with a head of one number, read at the last token: a reward model that is trained.

use std::collections::BTreeMap;
use std::path::Path;

use assay_weights::{Directory, save, synthetic};
use candle_core::{D, DType, Device, Tensor, Var};
use serde_json::{Value, json};

use crate::graph::Graph;
use crate::{PolicyError, PolicyModel, PolicyModelOptions};

/// Name of the head in model directories.
pub const HEAD: &str = "score.weight";

/// A decoder with a head of one number.
pub struct ScoringModel {
    body: PolicyModel,
    head: Var,
    /// The content of `config.json`, with the architecture of a reward model.
    json: Value,
}

/// Scores of texts and their graph.
pub struct TextScores {
    /// One number for each text.
    pub scores: Tensor,
    /// The graph to the trained parameters of the body.
    pub graph: Graph,
}

impl ScoringModel {
    /// Reads the directory of a decoder, in `f32`. If it has no head, the head is 0.
    ///
    /// # Errors
    /// A file or tensor is missing, the model has several outputs, or it is not a supported
    /// decoder.
    pub fn open(
        directory: &Path,
        device: &Device,
        options: &PolicyModelOptions,
    ) -> Result<Self, PolicyError> {
        let directory = Directory::open(directory)?;
        let mut json = directory.config()?;
        json["architectures"] = json!([architecture(&json)]);
        json["num_labels"] = Value::from(1);
        json["id2label"] = json!({"0": "LABEL_0"});
        // The body has no head over the vocabulary.
        let mut body = json.clone();
        body["architectures"] = json!(["ForCausalLM"]);
        body["tie_word_embeddings"] = Value::Bool(true);
        let weights = directory.weights(device, DType::F32)?;
        let mut tensors = BTreeMap::new();
        for (name, shape) in synthetic::tensors(&body)? {
            tensors.insert(name.clone(), weights.tensor(&name, &shape)?);
        }
        if weights.has("lm_head.weight") {
            weights.mark_used("lm_head.weight");
        }
        let hidden = tensors
            .get("model.norm.weight")
            .map_or(0, Tensor::elem_count);
        let head = match weights.shape(HEAD) {
            Some(shape) if shape != [1, hidden] => {
                return Err(PolicyError::new(format!(
                    "`{HEAD}` has the shape {shape:?}; only models with one output can be trained"
                )));
            }
            Some(shape) => weights.tensor(HEAD, &shape)?,
            None => Tensor::zeros((1, hidden), DType::F32, device)?,
        };
        weights.check_all_used()?;
        Ok(Self {
            body: PolicyModel::new(body, tensors, device, DType::F32, options)?,
            head: Var::from_tensor(&head)?,
            json,
        })
    }

    /// The decoder.
    #[must_use]
    pub fn body(&self) -> &PolicyModel {
        &self.body
    }

    /// The head, `[1, hidden]`.
    #[must_use]
    pub fn head(&self) -> &Var {
        &self.head
    }

    /// The trained parameters by name: those of the body and the head.
    #[must_use]
    pub fn parameters(&self) -> BTreeMap<String, Var> {
        let mut parameters = self.body.parameters().clone();
        parameters.insert(HEAD.to_owned(), self.head.clone());
        parameters
    }

    /// Scores texts, with the graph for gradients.
    ///
    /// # Errors
    /// A text is empty, an id is outside the vocabulary, or the device is out of memory.
    pub fn score(&self, texts: &[&[u32]]) -> Result<TextScores, PolicyError> {
        let (states, chain) = self.body.learning_states(texts)?;
        let (states, graph) = Graph::of_states(&states, chain)?;
        let scores = states.matmul(&self.head.t()?)?.squeeze(D::Minus1)?;
        Ok(TextScores { scores, graph })
    }

    /// Writes the model to a directory in the Hugging Face layout, with adapters merged into the
    /// weights.
    ///
    /// # Errors
    /// A file cannot be written.
    pub fn save(&self, directory: &Path) -> Result<(), PolicyError> {
        let mut tensors = self.body.tensors()?;
        tensors.insert(HEAD.to_owned(), self.head.as_detached_tensor());
        Ok(save::model(directory, &self.json, &tensors)?)
    }
}

/// The architecture of a reward model with the decoder of a configuration.
fn architecture(config: &Value) -> &'static str {
    match config["model_type"].as_str().unwrap_or_default() {
        "llama" => "LlamaForSequenceClassification",
        "qwen2" => "Qwen2ForSequenceClassification",
        "mistral" => "MistralForSequenceClassification",
        _ => "Qwen3ForSequenceClassification",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{Gradients, LoraSettings};

    fn config(architecture: &str) -> Value {
        json!({
            "architectures": [architecture], "model_type": "qwen3", "hidden_size": 16,
            "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 2,
            "num_key_value_heads": 1, "head_dim": 8, "vocab_size": 20, "num_labels": 1,
            "max_position_embeddings": 64, "rms_norm_eps": 1e-6,
        })
    }

    fn open(architecture: &str, lora: Option<LoraSettings>) -> ScoringModel {
        let folder = tempfile::tempdir().unwrap();
        synthetic::write(folder.path(), &config(architecture)).unwrap();
        let options = PolicyModelOptions {
            lora,
            seed: 1,
            ..PolicyModelOptions::default()
        };
        ScoringModel::open(folder.path(), &Device::Cpu, &options).unwrap()
    }

    fn scores(model: &ScoringModel, texts: &[&[u32]]) -> Vec<f32> {
        let scored = model.score(texts).unwrap();
        scored.scores.to_vec1().unwrap()
    }

    #[test]
    fn a_decoder_without_a_head_scores_zero() {
        let model = open("Qwen3ForCausalLM", None);
        assert_eq!(scores(&model, &[&[1, 2, 3], &[4]]), [0.0, 0.0]);
        assert!(model.parameters().contains_key(HEAD));
        assert!(!model.parameters().contains_key("lm_head.weight"));
    }

    #[test]
    fn scores_are_the_head_of_the_last_state() {
        let model = open("Qwen3ForSequenceClassification", None);
        let texts: [&[u32]; 2] = [&[1, 2, 3], &[4, 5]];
        let states = model.body().states(&texts).unwrap();
        let expected = states.matmul(&model.head().t().unwrap()).unwrap();
        let expected: Vec<f32> = expected.flatten_all().unwrap().to_vec1().unwrap();
        assert_eq!(scores(&model, &texts), expected);
        assert!(expected[0] != 0.0 && expected[0] != expected[1]);
    }

    #[test]
    fn gradients_equal_finite_differences() {
        let lora = LoraSettings {
            rank: 2,
            ..LoraSettings::default()
        };
        for lora in [None, Some(lora)] {
            let model = open("Qwen3ForSequenceClassification", lora);
            let texts: [&[u32]; 2] = [&[1, 2, 3, 7], &[4, 5]];
            let loss = |model: &ScoringModel| {
                let scored = model.score(&texts).unwrap();
                (
                    scored.scores.sqr().unwrap().sum_all().unwrap(),
                    scored.graph,
                )
            };
            let (value, graph) = loss(&model);
            let mut gradients = Gradients::new(&model.parameters()).unwrap();
            graph.backward(&value, &mut gradients).unwrap();
            for (name, var) in model.parameters() {
                let gradient = &gradients.tensors()[&name];
                let norm = gradient.sqr().unwrap().sum_all().unwrap();
                let norm = norm.to_scalar::<f32>().unwrap().sqrt();
                if norm < 1e-3 {
                    continue;
                }
                let step = 1e-2 / norm;
                let moved = |sign: f64| {
                    let at = var.as_detached_tensor().copy().unwrap();
                    let change = (gradient * (sign * f64::from(step / norm))).unwrap();
                    var.set(&(&at + change).unwrap()).unwrap();
                    let value = loss(&model).0.to_scalar::<f32>().unwrap();
                    var.set(&at).unwrap();
                    value
                };
                let slope = (moved(1.0) - moved(-1.0)) / (2.0 * step);
                assert!((slope - norm).abs() < 0.05 * norm, "{name}: {slope} {norm}");
            }
        }
    }

    #[test]
    fn a_saved_model_scores_the_same() {
        let lora = LoraSettings::default();
        let model = open("Qwen3ForCausalLM", Some(lora));
        for var in model.parameters().values() {
            var.set(&(var.ones_like().unwrap() * 0.01).unwrap())
                .unwrap();
        }
        let folder = tempfile::tempdir().unwrap();
        model.save(folder.path()).unwrap();
        let options = PolicyModelOptions::default();
        let again = ScoringModel::open(folder.path(), &Device::Cpu, &options).unwrap();
        let texts: [&[u32]; 2] = [&[1, 2, 3, 7], &[4, 5]];
        for (one, other) in scores(&model, &texts).iter().zip(scores(&again, &texts)) {
            assert!((one - other).abs() < 1e-5 && *one != 0.0, "{one} {other}");
        }
    }

    #[test]
    fn rejects_models_with_several_outputs() {
        let folder = tempfile::tempdir().unwrap();
        let mut config = config("Qwen3ForSequenceClassification");
        config["num_labels"] = 3.into();
        config["id2label"] = json!({"0": "a", "1": "b", "2": "c"});
        synthetic::write(folder.path(), &config).unwrap();
        let options = PolicyModelOptions::default();
        let error = ScoringModel::open(folder.path(), &Device::Cpu, &options).err();
        let error = error.unwrap().to_string();
        assert!(error.contains("only models with one output"), "{error}");
    }
}
