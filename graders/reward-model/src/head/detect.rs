//! Detects the head of a model from its tensors and its configuration. Models with tensors of two
//! heads, or of none, are rejected.

use assay_weights::config::{Family, Fields};
use assay_weights::{LoadError, Weights};
use serde_json::Value;

use super::matrix::Matrix;
use super::{Head, HeadLayers, OutputKind};
use crate::ModelOptions;
use crate::backbone::norm::RowNorm;

/// A detected head whose tensors are not read yet.
pub(crate) struct DetectedHead {
    pub(crate) output_kind: OutputKind,
    /// Outputs per row. 0 for an embedding, and for label tokens, whose number the options declare.
    pub(crate) outputs: usize,
    kind: HeadKind,
    hidden: usize,
}

enum HeadKind {
    /// `score.weight` with an optional bias.
    Score,
    /// `score.0` and `score.2`: two layers with a ReLU between them.
    Mlp,
    /// Rows of the language-model head, or of the embedding if the two are tied.
    Vocabulary { tied: bool },
    /// `bert.pooler` and `classifier`.
    Pooler,
    /// `head.dense`, `head.norm` and `classifier`.
    Prediction {
        eps: f64,
        norm_bias: bool,
        bias: bool,
    },
    /// No head: the pooled hidden state is the embedding.
    None { unit_length: bool },
}

/// Usual name of a decoder's head.
const SCORE: &str = "score";

/// Names under which trainers store the head of a decoder: `transformers`, OpenRLHF, TRL,
/// DeepSpeed-Chat.
const HEADS: &[&str] = &[SCORE, "value_head", "v_head.summary", "v_head"];

/// Names of tensors as the files store them.
struct TensorNames<'a> {
    weights: &'a Weights,
    options: &'a ModelOptions,
    /// The name that the files use in the place of `score`.
    head: &'a str,
}

impl<'a> TensorNames<'a> {
    fn new(config: &'a Value, weights: &'a Weights, options: &'a ModelOptions) -> Self {
        let declared = Fields(config).text("value_head_prefix");
        let is_stored = |head: &&str| {
            ["weight", "0.weight"]
                .iter()
                .any(|part| weights.has(&format!("{head}.{part}")))
        };
        let head = declared
            .into_iter()
            .chain(HEADS.iter().copied())
            .find(is_stored)
            .unwrap_or(SCORE);
        Self {
            weights,
            options,
            head,
        }
    }

    /// The declared name of a tensor, or its usual one in these files.
    fn stored_name(&self, standard_name: &str) -> String {
        if let Some(declared) = self.options.tensors.get(standard_name) {
            return declared.clone();
        }
        match standard_name.strip_prefix(SCORE) {
            Some(rest) if rest.starts_with('.') => format!("{}{rest}", self.head),
            _ => standard_name.to_owned(),
        }
    }

    fn has(&self, standard_name: &str) -> bool {
        self.weights.has(&self.stored_name(standard_name))
    }

    fn matrix(&self, name: &str, shape: [usize; 2]) -> Result<Matrix, LoadError> {
        let [weight, bias] = ["weight", "bias"].map(|part| {
            let standard_name = format!("{name}.{part}");
            self.stored_name(&standard_name)
        });
        let bias = self.weights.has(&bias).then_some(bias.as_str());
        Matrix::read(self.weights, &weight, bias, shape)
    }

    /// Number of outputs of a head.
    fn outputs(&self, standard_name: &str) -> Result<usize, LoadError> {
        let name = self.stored_name(standard_name);
        let shape = self.weights.shape(&name).unwrap_or_default();
        match shape[..] {
            [out, _] if out > 0 => Ok(out),
            _ => Err(LoadError::new(format!(
                "tensor `{name}` of the head must be a matrix, but has the shape {shape:?}"
            ))),
        }
    }
}

impl DetectedHead {
    /// Detects the head from names and shapes, without reading any tensor.
    pub(crate) fn detect(
        family: Family,
        config: &Value,
        weights: &Weights,
        options: &ModelOptions,
        unit_length: bool,
    ) -> Result<Self, LoadError> {
        let fields = Fields(config);
        let names = TensorNames::new(config, weights, options);
        let hidden = fields.size("hidden_size")?;
        if let Some(missing) = options.tensors.values().find(|name| !weights.has(name)) {
            return Err(LoadError::new(format!(
                "option `tensors` names `{missing}`, which the files do not contain"
            )));
        }
        let architecture = fields
            .texts("architectures")
            .and_then(|names| names.first().copied())
            .unwrap_or_default();
        let steps = options.step_token.is_some()
            || architecture.ends_with("ForProcessRewardModel")
            || architecture.ends_with("ForTokenClassification");
        let scored_kind = |outputs: usize| match outputs {
            _ if steps => OutputKind::Steps,
            1 => OutputKind::Scalar,
            _ => OutputKind::Classes,
        };
        let head = |output_kind: OutputKind, outputs: usize, kind: HeadKind| {
            Ok(Self {
                output_kind,
                outputs,
                kind,
                hidden,
            })
        };
        if names.has("score.0.weight") {
            let outputs = names.outputs("score.2.weight")?;
            return head(scored_kind(outputs), outputs, HeadKind::Mlp);
        }
        if names.has("score.weight") {
            let outputs = names.outputs("score.weight")?;
            return head(scored_kind(outputs), outputs, HeadKind::Score);
        }
        match family {
            Family::Bert | Family::ModernBert if names.has("classifier.weight") => {
                let kind = match family {
                    Family::Bert => HeadKind::Pooler,
                    _ => {
                        fields.activation("classifier_activation", &["gelu"])?;
                        let flag = |name: &str| fields.flag_or(name, false);
                        let eps = fields.number_or("norm_eps", 1e-5)?;
                        HeadKind::Prediction {
                            eps,
                            norm_bias: flag("norm_bias"),
                            bias: flag("classifier_bias"),
                        }
                    }
                };
                let outputs = names.outputs("classifier.weight")?;
                head(scored_kind(outputs), outputs, kind)
            }
            Family::Bert | Family::ModernBert => {
                head(OutputKind::Embedding, 0, HeadKind::None { unit_length })
            }
            Family::Decoder if !options.labels.is_empty() => head(
                OutputKind::Labels,
                0,
                HeadKind::Vocabulary {
                    tied: fields.flag_or("tie_word_embeddings", false),
                },
            ),
            Family::Decoder if architecture.ends_with("ForCausalLM") => {
                Err(LoadError::new(format!(
                    "`{architecture}` is a language model without a reward head; for a verifier \
                     that answers with one token, declare `labels` and `positive`"
                )))
            }
            Family::Decoder => Err(LoadError::new(
                "the files have no tensor of a head (`score.weight`, or `score.0.weight` and \
                 `score.2.weight`); if it has another name, declare it, for example `tensors = { \
                 \"score.weight\" = \"v_head.weight\" }`",
            )),
        }
    }

    /// Reads the tensors of the head. `labels` are the ids of the label tokens. `prefix` is the
    /// prefix of the backbone's tensors.
    pub(crate) fn read(
        self,
        config: &Value,
        weights: &Weights,
        options: &ModelOptions,
        prefix: &str,
        labels: &[u32],
    ) -> Result<Head, LoadError> {
        let names = TensorNames::new(config, weights, options);
        let hidden = self.hidden;
        let is_renamed = !options.tensors.is_empty() || names.head != SCORE;
        if is_renamed && self.output_kind != OutputKind::Labels {
            // Many files with a value head still contain the language-model head, which is not
            // needed.
            weights.mark_used("lm_head.weight");
        }
        let layers = match self.kind {
            HeadKind::Score => {
                HeadLayers::One(names.matrix("score", [names.outputs("score.weight")?, hidden])?)
            }
            HeadKind::Mlp => {
                let inner = names.outputs("score.0.weight")?;
                let first = names.matrix("score.0", [inner, hidden])?;
                HeadLayers::Two(
                    first,
                    names.matrix("score.2", [names.outputs("score.2.weight")?, inner])?,
                )
            }
            HeadKind::Vocabulary { tied } => {
                let vocabulary = Fields(config).size("vocab_size")?;
                let embedding = format!("{prefix}embed_tokens.weight");
                let name = if weights.has("lm_head.weight") {
                    "lm_head.weight"
                } else {
                    embedding.as_str()
                };
                if name == embedding && !tied {
                    return Err(LoadError::new(
                        "tensor `lm_head.weight` is missing, and `tie_word_embeddings` is not set",
                    ));
                }
                let all = weights.values(name, &[vocabulary, hidden])?;
                let rows = Matrix::of_rows(&all, hidden, labels);
                HeadLayers::One(rows.ok_or_else(|| {
                    LoadError::new("the id of a label token exceeds the vocabulary")
                })?)
            }
            HeadKind::Pooler => {
                let pool = names.matrix(&format!("{prefix}pooler.dense"), [hidden, hidden])?;
                HeadLayers::Pooler(
                    pool,
                    names.matrix("classifier", [names.outputs("classifier.weight")?, hidden])?,
                )
            }
            HeadKind::Prediction {
                eps,
                norm_bias,
                bias,
            } => {
                let biased = bias.then_some("head.dense.bias");
                let dense = Matrix::read(weights, "head.dense.weight", biased, [hidden, hidden])?;
                let norm = RowNorm::layer(weights, "head.norm", hidden, eps, norm_bias)?;
                HeadLayers::Prediction(
                    dense,
                    norm,
                    names.matrix("classifier", [names.outputs("classifier.weight")?, hidden])?,
                )
            }
            HeadKind::None { unit_length } => {
                for part in ["weight", "bias"] {
                    weights.mark_used(&format!("{prefix}pooler.dense.{part}"));
                }
                HeadLayers::None { unit_length }
            }
        };
        Ok(Head {
            output_kind: self.output_kind,
            layers,
        })
    }
}
