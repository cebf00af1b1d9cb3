//! Moves bodies of deleted packs that other batches use to packs of these batches.

use std::collections::hash_map::Entry;
use std::collections::{BTreeMap, HashMap};

use super::super::bodies::{INSERT_PACKS, PERMANENT, unpack};
use super::super::holdings::{self, HeldAmounts};
use super::super::insert::Delete;
use crate::Body;
use crate::database::DatabaseError;
use crate::database::sql::{self, Connection};
use crate::pending::packs::{PackedBody, body_of, pack};

/// Compression of bodies that are moved.
const LEVEL: i32 = 3;

/// Packs that are kept unpacked.
const MAX_UNPACKED: usize = 64;

const DELETE_USES: Delete = Delete {
    prefix: "delete from body_uses where",
    key: &["hash", "batch"],
};

/// A body of a deleted pack that another batch uses.
pub(super) struct SharedBody {
    pub(super) location: PackedBody,
    pub(super) pack: i64,
    /// The batch to which it is moved: the newest, because the oldest is likely to be deleted next.
    pub(super) owner: i64,
}

/// Reads the bodies, by their new owners.
async fn read(
    connection: &mut Connection,
    shared: Vec<SharedBody>,
) -> Result<BTreeMap<i64, Vec<Body>>, DatabaseError> {
    let mut unpacked: HashMap<i64, Vec<u8>> = HashMap::new();
    let mut by_owner: BTreeMap<i64, Vec<Body>> = BTreeMap::new();
    for SharedBody {
        location,
        pack,
        owner,
    } in shared
    {
        if unpacked.len() >= MAX_UNPACKED {
            unpacked.clear();
        }
        let content = match unpacked.entry(pack) {
            Entry::Occupied(content) => content.into_mut(),
            Entry::Vacant(vacant) => vacant.insert(unpack(connection, pack).await?),
        };
        let body = body_of(content, &location)?;
        by_owner.entry(owner).or_default().push(body);
    }
    Ok(by_owner)
}

/// Moves bodies to new packs of the batches that use them; returns the bytes of these packs.
pub(super) async fn move_bodies(
    connection: &mut Connection,
    shared: Vec<SharedBody>,
) -> Result<i64, DatabaseError> {
    let mut moved = 0;
    for (owner, bodies) in read(connection, shared).await? {
        moved += store(connection, owner, &bodies).await?;
    }
    Ok(moved)
}

/// Stores bodies in new packs of a batch; returns the bytes of these packs.
async fn store(
    connection: &mut Connection,
    owner: i64,
    bodies: &[Body],
) -> Result<i64, DatabaseError> {
    let first: i64 = sql::query_scalar("select max(no) + 1 from packs")
        .fetch_one(connection)
        .await?;
    let packs = pack(bodies, LEVEL).map_err(DatabaseError::Spool)?;
    let numbered: Vec<_> = (first..).zip(&packs).collect();
    INSERT_PACKS
        .run(connection, &numbered, |values, (number, pack)| {
            values
                .add(*number)
                .add(owner)
                .add(pack.compressed.codec.number())
                .add(i64::from(pack.compressed.size))
                .add(pack.compressed.content.as_slice());
        })
        .await?;
    let mut bytes = 0;
    for (number, pack) in numbered {
        bytes += i64::try_from(pack.compressed.content.len()).unwrap_or(i64::MAX);
        for body in &pack.bodies {
            sql::query("update bodies set pack = $1, start = $2 where hash = $3")
                .bind(number)
                .bind(i64::from(body.start))
                .bind(&body.hash.as_bytes()[..])
                .execute(connection)
                .await?;
        }
    }
    if owner != PERMANENT {
        DELETE_USES
            .run(connection, bodies, |values, body| {
                values.add(&body.hash.as_bytes()[..]).add(owner);
            })
            .await?;
        let row = sql::query(
            "update batches set pack_bytes = pack_bytes + $1 \
             where no = $2 and grades is not null returning run, caller",
        )
        .bind(bytes)
        .bind(owner)
        .fetch_optional(connection)
        .await?;
        if let Some(row) = row {
            let caller: String = row.try_get("caller")?;
            let added = HeldAmounts {
                pack_bytes: bytes,
                ..HeldAmounts::default()
            };
            holdings::change(connection, row.try_get("run")?, &caller, added).await?;
        }
    }
    Ok(bytes)
}
