//! Bodies in their packs, which are written as they are compressed in the spool.

use std::collections::{BTreeMap, HashMap, HashSet};

use assay_core::Hash;

use super::codec::{codec, kind};
use super::insert::{Insert, look_up, look_up_below};
use super::rows::{count, hash};
use super::sqlite::indexed_by;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::pending::loaded_entry::LoadedEntry;
use crate::pending::packs::{Compressed, Pack, PackedBody, body_of, decompress};
use crate::{Body, BodyKind};

/// A stored body is not changed.
const INSERT_BODIES: Insert = Insert {
    prefix: "insert into bodies (hash, kind, pack, start, size)",
    columns: 5,
    suffix: "on conflict (hash) do nothing",
};

pub(super) const INSERT_PACKS: Insert = Insert {
    prefix: "insert into packs (no, batch, codec, size, content)",
    columns: 5,
    suffix: "",
};

const INSERT_USES: Insert = Insert {
    prefix: "insert into body_uses (hash, batch)",
    columns: 2,
    suffix: "on conflict do nothing",
};

const UPSERT_PERMANENT: Insert = Insert {
    prefix: "insert into permanent_holdings (caller, bytes)",
    columns: 2,
    suffix: "on conflict (caller) do update set \
             bytes = permanent_holdings.bytes + excluded.bytes",
};

/// The batch of packs, and of uses of bodies, that are never deleted.
pub(super) const PERMANENT: i64 = 0;

/// A pack to insert.
struct NewPack<'p> {
    number: i64,
    /// The batch with which it is deleted.
    batch: i64,
    /// The caller of its entry.
    caller: &'p str,
    pack: &'p Pack,
}

/// The batch to which a pack of the batch `number` belongs: policies, pairs and reports are not
/// deleted with grades.
fn owner(pack: &Pack, number: i64) -> i64 {
    match pack.bodies.first().map(|body| body.kind) {
        Some(BodyKind::Text | BodyKind::Messages | BodyKind::Task) => number,
        _ => PERMANENT,
    }
}

/// The bodies to which the grades of an entry refer but which it does not contain, because an
/// earlier entry did.
fn referred(loaded: &LoadedEntry) -> Vec<Hash> {
    let packs = loaded.contents.packs.iter();
    let contained: HashSet<Hash> = packs
        .flat_map(|pack| pack.bodies.iter().map(|body| body.hash))
        .collect();
    let grades = loaded.entry.grades.iter();
    let mut referred: Vec<Hash> = grades
        .map(|grade| &grade.row.source)
        .filter(|source| !source.bodies_omitted)
        .flat_map(|source| {
            let hashes = [source.task_hash, source.completion_hash];
            hashes.into_iter().chain(source.prompt_hash)
        })
        .filter(|hash| !contained.contains(hash))
        .collect();
    referred.sort_unstable();
    referred.dedup();
    referred
}

/// Inserts the bodies that are not stored, and the packs that contain at least one of them; notes
/// the uses of bodies that other batches stored. Entries come with the number of their batch.
/// Returns the bytes of new packs by batch.
pub(super) async fn insert_bodies(
    connection: &mut Connection,
    loaded: &[(i64, &LoadedEntry)],
) -> Result<BTreeMap<i64, u64>, DatabaseError> {
    let referred: Vec<(Hash, i64)> = loaded
        .iter()
        .filter(|(batch, _)| *batch != PERMANENT)
        .flat_map(|(batch, loaded)| referred(loaded).into_iter().map(|hash| (hash, *batch)))
        .collect();
    let first: i64 = sql::query_scalar("select coalesce(max(no), 0) + 1 from packs")
        .fetch_one(connection)
        .await?;
    let packs = loaded.iter().flat_map(|(batch, loaded)| {
        let caller = loaded.entry.caller.as_ref();
        let packs = loaded.contents.packs.iter();
        packs.map(move |pack| (*batch, caller, pack))
    });
    let packs: Vec<NewPack<'_>> = (first..)
        .zip(packs)
        .map(|(number, (batch, caller, pack))| NewPack {
            number,
            batch: owner(pack, batch),
            caller,
            pack,
        })
        .collect();
    let bodies: Vec<(i64, i64, &PackedBody)> = packs
        .iter()
        .flat_map(|new| {
            let bodies = new.pack.bodies.iter();
            bodies.map(|body| (new.number, new.batch, body))
        })
        .collect();
    let written = INSERT_BODIES
        .run(connection, &bodies, |values, (pack, _, body)| {
            let kind = match body.kind {
                BodyKind::Text => 0,
                BodyKind::Messages => 1,
                BodyKind::Task => 2,
                BodyKind::Policy => 3,
                BodyKind::Pair => 4,
                BodyKind::Report => 5,
            };
            values
                .add(&body.hash.as_bytes()[..])
                .add(kind)
                .add(*pack)
                .add(i64::from(body.start))
                .add(i64::from(body.size));
        })
        .await?;
    let mut owners = Owners::of_new(&bodies);
    if written != owners.len() as u64 || !referred.is_empty() {
        let hashes = bodies.iter().map(|(_, _, body)| body.hash);
        let hashes = hashes.chain(referred.iter().map(|(hash, _)| *hash));
        owners.correct(connection, first, hashes).await?;
    }
    let used = bodies.iter().map(|(_, batch, body)| (body.hash, *batch));
    let mut uses: Vec<(Hash, i64)> = used
        .chain(referred)
        .filter(|(hash, batch)| owners.is_foreign(hash, *batch))
        .collect();
    uses.sort_unstable();
    uses.dedup();
    INSERT_USES
        .run(connection, &uses, |values, (hash, batch)| {
            values.add(&hash.as_bytes()[..]).add(*batch);
        })
        .await?;
    let used = owners.packs();
    let needed: Vec<NewPack<'_>> = packs
        .into_iter()
        .filter(|new| used.contains(&new.number))
        .collect();
    INSERT_PACKS
        .run(connection, &needed, |values, new| {
            values
                .add(new.number)
                .add(new.batch)
                .add(new.pack.compressed.codec.number())
                .add(i64::from(new.pack.compressed.size))
                .add(new.pack.compressed.content.as_slice());
        })
        .await?;
    let (mut bytes, mut permanent) = (BTreeMap::new(), BTreeMap::<&str, u64>::new());
    for new in needed {
        let size = new.pack.compressed.content.len() as u64;
        *bytes.entry(new.batch).or_default() += size;
        if new.batch == PERMANENT {
            *permanent.entry(new.caller).or_default() += size;
        }
    }
    let permanent: Vec<_> = permanent.into_iter().collect();
    UPSERT_PERMANENT
        .run(connection, &permanent, |values, (caller, size)| {
            values.add(*caller).add_count(*size);
        })
        .await?;
    Ok(bytes)
}

/// Where bodies are stored: the pack of each, and the batch of that pack.
struct Owners(HashMap<Hash, (i64, Option<i64>)>);

impl Owners {
    /// The owners of new bodies: the first pack that contains each.
    fn of_new(bodies: &[(i64, i64, &PackedBody)]) -> Self {
        let mut owners = HashMap::with_capacity(bodies.len());
        for (pack, batch, body) in bodies {
            owners.entry(body.hash).or_insert((*pack, Some(*batch)));
        }
        Self(owners)
    }

    /// Corrects the owners of bodies that were stored before the pack `first`.
    async fn correct(
        &mut self,
        connection: &mut Connection,
        first: i64,
        hashes: impl Iterator<Item = Hash>,
    ) -> Result<(), DatabaseError> {
        // The index has the batches without the contents.
        let select = concat!(
            "select b.hash, b.pack, p.batch from bodies b left join packs p",
            indexed_by!("packs_owners"),
            " on p.no = b.pack where b.hash in"
        );
        let mut hashes: Vec<Hash> = hashes.collect();
        hashes.sort_unstable();
        hashes.dedup();
        for row in look_up_below(connection, select, &hashes, ("b.pack", first)).await? {
            let hash = hash(row.try_get("hash")?, "bodies", "hash")?;
            self.0
                .insert(hash, (row.try_get("pack")?, row.try_get("batch")?));
        }
        Ok(())
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether a body is stored with another batch, and not permanently.
    fn is_foreign(&self, hash: &Hash, batch: i64) -> bool {
        let owner = self.0.get(hash).map(|(_, owner)| *owner);
        owner.is_some_and(|owner| owner != Some(batch) && owner != Some(PERMANENT))
    }

    fn packs(&self) -> HashSet<i64> {
        self.0.values().map(|(pack, _)| *pack).collect()
    }
}

/// The sizes of the bodies with these hashes, in bytes.
pub(crate) async fn sizes(
    connection: &mut Connection,
    hashes: &[Hash],
) -> Result<HashMap<Hash, u64>, DatabaseError> {
    let select = "select hash, size from bodies where hash in";
    let mut sizes = HashMap::with_capacity(hashes.len());
    for row in look_up(connection, select, hashes).await? {
        let size = count(row.try_get("size")?);
        sizes.insert(hash(row.try_get("hash")?, "bodies", "hash")?, size);
    }
    Ok(sizes)
}

/// The bodies with these hashes. Each pack is read once, and few are in memory at a time.
pub(crate) async fn find_all(
    connection: &mut Connection,
    hashes: &[Hash],
) -> Result<HashMap<Hash, Body>, DatabaseError> {
    let select = "select hash, kind, pack, start, size from bodies where hash in";
    let mut by_pack: BTreeMap<i64, Vec<PackedBody>> = BTreeMap::new();
    for row in look_up(connection, select, hashes).await? {
        by_pack
            .entry(row.try_get("pack")?)
            .or_default()
            .push(PackedBody {
                hash: hash(row.try_get("hash")?, "bodies", "hash")?,
                kind: kind(row.try_get("kind")?)?,
                start: row.try_get("start")?,
                size: row.try_get("size")?,
            });
    }
    let mut bodies = HashMap::with_capacity(hashes.len());
    for (pack, located) in by_pack {
        let content = unpack(connection, pack).await?;
        for body in located {
            bodies.insert(body.hash, body_of(&content, &body)?);
        }
    }
    Ok(bodies)
}

/// The contents of a pack, decompressed.
pub(super) async fn unpack(
    connection: &mut Connection,
    pack: i64,
) -> Result<Vec<u8>, DatabaseError> {
    let row = sql::query("select codec, size, content from packs where no = $1")
        .bind(pack)
        .fetch_one(connection)
        .await?;
    let compressed = Compressed {
        codec: codec("packs", row.try_get("codec")?)?,
        size: row.try_get("size")?,
        content: row.try_get("content")?,
    };
    Ok(decompress(&compressed)?)
}
