//! Detects the head of a model from its tensors and its configuration. Models with tensors of two
//! heads, or of none, are rejected.

use assay_weights::config::{Family, Fields};
use assay_weights::{LoadError, Weights};
use serde_json::Value;

use super::matrix::Matrix;
use super::{Head, Layers, Meaning};
use crate::ModelOptions;
use crate::body::norm::RowNorm;

/// A detected head whose tensors are not read yet.
pub(crate) struct Found {
    pub(crate) meaning: Meaning,
    /// Outputs per row. 0 for an embedding, and for label tokens, whose number the options declare.
    pub(crate) outputs: usize,
    kind: Kind,
    hidden: usize,
}

enum Kind {
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
    None { unit: bool },
}

/// Names of tensors, with the renames of the options applied.
struct Names<'a> {
    weights: &'a Weights,
    options: &'a ModelOptions,
}

impl Names<'_> {
    fn in_file<'n>(&'n self, usual: &'n str) -> &'n str {
        self.options
            .tensors
            .get(usual)
            .map_or(usual, String::as_str)
    }

    fn has(&self, usual: &str) -> bool {
        self.weights.has(self.in_file(usual))
    }

    fn matrix(&self, name: &str, [out, inner]: [usize; 2]) -> Result<Matrix, LoadError> {
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let bias = self.has(&bias).then(|| self.in_file(&bias));
        Matrix::read(self.weights, self.in_file(&weight), bias, [out, inner])
    }

    /// Number of outputs of a head.
    fn outputs(&self, usual: &str) -> Result<usize, LoadError> {
        let name = self.in_file(usual);
        let shape = self.weights.shape(name).unwrap_or_default();
        match shape[..] {
            [out, _] if out > 0 => Ok(out),
            _ => Err(LoadError::new(format!(
                "tensor `{name}` of the head must be a matrix, but has the shape {shape:?}"
            ))),
        }
    }
}

impl Found {
    /// Detects the head from names and shapes, without reading any tensor.
    pub(crate) fn look(
        family: Family,
        config: &Value,
        weights: &Weights,
        options: &ModelOptions,
        unit: bool,
    ) -> Result<Self, LoadError> {
        let fields = Fields(config);
        let names = Names { weights, options };
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
        let several = |outputs: usize| match outputs {
            _ if steps => Meaning::Steps,
            1 => Meaning::Scalar,
            _ => Meaning::Classes,
        };
        let found = |meaning: Meaning, outputs: usize, kind: Kind| {
            Ok(Self {
                meaning,
                outputs,
                kind,
                hidden,
            })
        };
        if names.has("score.0.weight") {
            let outputs = names.outputs("score.2.weight")?;
            return found(several(outputs), outputs, Kind::Mlp);
        }
        if names.has("score.weight") {
            let outputs = names.outputs("score.weight")?;
            return found(several(outputs), outputs, Kind::Score);
        }
        match family {
            Family::Bert | Family::ModernBert if names.has("classifier.weight") => {
                let kind = match family {
                    Family::Bert => Kind::Pooler,
                    _ => {
                        fields.activation("classifier_activation", &["gelu"])?;
                        let flag = |name: &str| fields.flag_or(name, false);
                        let eps = fields.number_or("norm_eps", 1e-5)?;
                        Kind::Prediction {
                            eps,
                            norm_bias: flag("norm_bias"),
                            bias: flag("classifier_bias"),
                        }
                    }
                };
                let outputs = names.outputs("classifier.weight")?;
                found(several(outputs), outputs, kind)
            }
            Family::Bert | Family::ModernBert => found(Meaning::Embedding, 0, Kind::None { unit }),
            Family::Decoder if !options.labels.is_empty() => found(
                Meaning::Labels,
                0,
                Kind::Vocabulary {
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
                "there is no tensor of a head (`score.weight`, or `score.0.weight` and \
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
        let names = Names { weights, options };
        let hidden = self.hidden;
        if !options.tensors.is_empty() && self.meaning != Meaning::Labels {
            // Many files still contain the language-model head. It is not needed when the options
            // declare the reward head.
            weights.pass_over("lm_head.weight");
        }
        let layers = match self.kind {
            Kind::Score => {
                Layers::One(names.matrix("score", [names.outputs("score.weight")?, hidden])?)
            }
            Kind::Mlp => {
                let inner = names.outputs("score.0.weight")?;
                let first = names.matrix("score.0", [inner, hidden])?;
                Layers::Two(
                    first,
                    names.matrix("score.2", [names.outputs("score.2.weight")?, inner])?,
                )
            }
            Kind::Vocabulary { tied } => {
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
                Layers::One(
                    rows.ok_or_else(|| LoadError::new("the id of a label token exceeds the vocabulary"))?,
                )
            }
            Kind::Pooler => {
                let pool = names.matrix(&format!("{prefix}pooler.dense"), [hidden, hidden])?;
                Layers::Pooler(
                    pool,
                    names.matrix("classifier", [names.outputs("classifier.weight")?, hidden])?,
                )
            }
            Kind::Prediction {
                eps,
                norm_bias,
                bias,
            } => {
                let biased = bias.then_some("head.dense.bias");
                let dense = Matrix::read(weights, "head.dense.weight", biased, [hidden, hidden])?;
                let norm = RowNorm::layer(weights, "head.norm", hidden, eps, norm_bias)?;
                Layers::Prediction(
                    dense,
                    norm,
                    names.matrix("classifier", [names.outputs("classifier.weight")?, hidden])?,
                )
            }
            Kind::None { unit } => {
                for part in ["weight", "bias"] {
                    weights.pass_over(&format!("{prefix}pooler.dense.{part}"));
                }
                Layers::None { unit }
            }
        };
        Ok(Head {
            meaning: self.meaning,
            layers,
        })
    }
}
