//! Reads the texts of recorded grades from their bodies.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use assay_core::Hash;

use super::extract;
use crate::database::DatabaseError;
use crate::database::bodies::unpack;
use crate::database::codec::packed_body;
use crate::database::indexed::GradeTexts;
use crate::database::insert::look_up;
use crate::database::rows::hash;
use crate::database::sql::{Connection, Row};
use crate::pending::packs::{PackedBody, body_of};

/// A grade and the hashes of its bodies.
struct GradeBodies {
    key: i64,
    completion: Hash,
    prompt: Option<Hash>,
}

impl GradeBodies {
    fn of_row(row: &Row) -> Result<Self, DatabaseError> {
        let prompt: Option<&[u8]> = row.try_get("prompt_hash")?;
        Ok(Self {
            key: row.try_get("key")?,
            completion: hash(row.try_get("completion_hash")?, "grades", "completion_hash")?,
            prompt: prompt
                .map(|prompt| hash(prompt, "grades", "prompt_hash"))
                .transpose()?,
        })
    }
}

/// The texts of the grades with these keys; empty where a body is not stored. Takes up to 64 KiB of
/// memory for each grade.
pub(crate) async fn texts(
    connection: &mut Connection,
    keys: &[i64],
) -> Result<Vec<GradeTexts>, DatabaseError> {
    let select = "select key, completion_hash, prompt_hash from grades where key in";
    let rows = look_up(connection, select, keys).await?;
    let grades: Vec<GradeBodies> = rows
        .iter()
        .map(GradeBodies::of_row)
        .collect::<Result<_, _>>()?;
    let completions: BTreeSet<Hash> = grades.iter().map(|grade| grade.completion).collect();
    let prompts: BTreeSet<Hash> = grades.iter().filter_map(|grade| grade.prompt).collect();
    let (mut completion_texts, mut prompt_texts) = (HashMap::new(), HashMap::new());
    for (pack, bodies) in locate(connection, completions.union(&prompts)).await? {
        let unpacked = match unpack(connection, pack).await {
            Ok(unpacked) => unpacked,
            // One damaged pack does not prevent searching the others; `verify` reports it.
            Err(error @ DatabaseError::Content(_)) => {
                tracing::warn!(%error, pack, "texts are left out of the index");
                continue;
            }
            Err(error) => return Err(error),
        };
        for location in bodies {
            let body = body_of(&unpacked, &location)?;
            if completions.contains(&location.hash) {
                completion_texts.insert(location.hash, extract::completion(&body));
            }
            if prompts.contains(&location.hash) {
                prompt_texts.insert(location.hash, extract::prompt(&body));
            }
        }
    }
    let text = |texts: &HashMap<Hash, String>, hash: Option<&Hash>| {
        let text = hash.and_then(|hash| texts.get(hash));
        text.cloned().unwrap_or_default()
    };
    let texts = grades.iter().map(|grade| GradeTexts {
        key: grade.key,
        completion: text(&completion_texts, Some(&grade.completion)),
        prompt: text(&prompt_texts, grade.prompt.as_ref()),
    });
    Ok(texts.collect())
}

/// The places of bodies by pack.
async fn locate(
    connection: &mut Connection,
    hashes: impl Iterator<Item = &Hash>,
) -> Result<BTreeMap<i64, Vec<PackedBody>>, DatabaseError> {
    let hashes: Vec<Hash> = hashes.copied().collect();
    let select = "select hash, kind, pack, start, size from bodies where hash in";
    let mut packs: BTreeMap<i64, Vec<PackedBody>> = BTreeMap::new();
    for row in look_up(connection, select, &hashes).await? {
        let hash = hash(row.try_get("hash")?, "bodies", "hash")?;
        let bodies = packs.entry(row.try_get("pack")?).or_default();
        bodies.push(packed_body(&row, hash)?);
    }
    Ok(packs)
}
