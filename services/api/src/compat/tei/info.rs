//! `GET /compat/tei/info` and `/health`: the default model, and whether it is ready.

use std::borrow::Cow;
use std::collections::BTreeMap;

use assay_core::reward_model::ModelInfo;
use axum::Json;
use axum::response::Response;
use serde::Serialize;
use utoipa::ToSchema;

use crate::Api;
use crate::compat::peer_error::PeerError;
use crate::compat::reward::{ModelScores, label};
use crate::error::ApiError;

#[derive(Serialize, ToSchema)]
#[schema(as = TeiInfo)]
struct Info {
    model_id: String,
    model_sha: String,
    #[schema(value_type = String)]
    model_dtype: Cow<'static, str>,
    model_type: ModelType,
    max_concurrent_requests: usize,
    max_input_length: usize,
    max_batch_tokens: usize,
    max_batch_requests: Option<usize>,
    max_client_batch_size: usize,
    auto_truncate: bool,
    tokenization_workers: usize,
    version: &'static str,
    sha: Option<&'static str>,
    docker_label: Option<&'static str>,
}

#[derive(Serialize, ToSchema)]
#[serde(rename_all = "lowercase")]
#[schema(as = TeiModelType)]
enum ModelType {
    Classifier(Classes),
    Embedding { pooling: String },
    Reranker(Classes),
}

#[derive(Serialize, ToSchema)]
#[schema(as = TeiClasses)]
struct Classes {
    // Keys of JSON objects are strings.
    #[schema(value_type = BTreeMap<String, String>)]
    id2label: BTreeMap<usize, String>,
    label2id: BTreeMap<String, usize>,
}

impl ModelType {
    fn new(model: &ModelInfo) -> Self {
        let classes = || {
            let id2label: BTreeMap<_, _> = (0..model.labels.len().max(1))
                .map(|at| (at, label(model, at)))
                .collect();
            let label2id = id2label
                .iter()
                .map(|(at, label)| (label.clone(), *at))
                .collect();
            Classes { id2label, label2id }
        };
        match &*model.head {
            "embedding" => Self::Embedding {
                pooling: model.pooling.clone(),
            },
            "classes" | "labels" => Self::Classifier(classes()),
            _ => Self::Reranker(classes()),
        }
    }
}

/// Describes the default model, in the format of text-embeddings-inference.
#[utoipa::path(get, path = "/compat/tei/info", tag = "compatibility", responses(
    (status = 200, description = "The model", body = Info),
))]
pub(crate) async fn info(api: Api) -> Result<Response, PeerError> {
    let model = api
        .models()
        .find(None)
        .map_err(|error| PeerError::from(ApiError::from(error)))?;
    let max_inputs = api.limits().batch_items;
    let info = Info {
        model_id: model.source.clone(),
        model_sha: model.version.clone(),
        model_dtype: match &*model.dtype {
            "f32" => "float32".into(),
            "f16" => "float16".into(),
            "bf16" => "bfloat16".into(),
            _ => model.dtype.clone(),
        },
        model_type: ModelType::new(&model),
        max_concurrent_requests: max_inputs,
        max_input_length: model.max_tokens,
        max_batch_tokens: model.max_tokens,
        max_batch_requests: None,
        max_client_batch_size: max_inputs,
        auto_truncate: false,
        tokenization_workers: std::thread::available_parallelism()
            .map_or(1, std::num::NonZero::get),
        version: env!("CARGO_PKG_VERSION"),
        sha: None,
        docker_label: None,
    };
    Ok(ModelScores {
        model,
        scores: Vec::new(),
    }
    .reply(Json(info)))
}

/// Reports whether the default model is ready, in the format of text-embeddings-inference.
#[utoipa::path(get, path = "/compat/tei/health", tag = "compatibility", responses(
    (status = 200, description = "The model is ready"),
))]
pub(crate) async fn health(api: Api) -> Result<(), PeerError> {
    api.models()
        .find(None)
        .map_err(|error| PeerError::from(ApiError::from(error)))?;
    Ok(())
}
