//! `/compat/sglang`: the routes of SGLang's server, for its clients.
//!
//! All routes return the raw score of a reward model. SGLang's `/v1/classify` applies a softmax to
//! the single number, which is always 1.0. As in SGLang, the field `model` is ignored and the
//! default model is used.

pub(crate) mod native;
pub(crate) mod openai;
