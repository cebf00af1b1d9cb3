-- Marks of grades; see `GradeRecord`.
alter table grades add column redacted integer not null default 0;       -- 1 if texts were replaced
alter table grades add column bodies_omitted integer not null default 0; -- 1 if bodies were omitted

-- First 8 bytes of the BLAKE3 hash of the other columns of the grade, its id, and its columns in
-- `batches`, `kinds` and `runs`; null for grades recorded before this migration.
alter table grades add column checksum integer;

-- What a batch holds. Null for batches recorded before this migration until a retention run has
-- counted them.
alter table batches add column grades integer;          -- its grades that are stored
alter table batches add column grade_bytes integer;     -- bytes of their values
alter table batches add column pack_bytes integer;      -- bytes of the packs that belong to it
-- Sum of the checksums of its grades, wrapping at 64 bits; null if one of them has none.
alter table batches add column checksum integer;
-- Progress of its deletion: 1 if its bodies were deleted, 2 if its grades are being deleted.
alter table batches add column deleted integer not null default 0;

-- Batches to count, to continue to delete, and those that still have bodies, oldest first.
create index batches_to_count on batches (no) where grades is null;
create index batches_to_delete on batches (no) where deleted = 2;
create index batches_with_bodies on batches (id) where deleted = 0;

-- The batch to which a pack belongs and with which it is deleted: `batches.no`; 0 for packs that
-- are not deleted with a batch; null for packs recorded before this migration that are not counted.
alter table packs add column batch integer;
create index packs_by_batch on packs (batch) where batch > 0;

-- Batches with grades that refer to a body in a pack of another batch. A body of a deleted batch is
-- moved to one of these batches.
create table body_uses (
    hash   blob    not null,               -- `bodies.hash`
    batch  integer not null,               -- `batches.no`; 0 for a use that is never deleted
    primary key (hash, batch)
) strict, without rowid;

-- What the record holds, by run and caller: sums over `batches`, so that nothing is scanned.
create table holdings (
    run          integer not null,         -- `runs.no`, 0 without a run
    caller       text    not null,         -- `batches.caller`
    batches      integer not null,         -- batches
    grades       integer not null,         -- grades
    grade_bytes  integer not null,         -- bytes of their values
    pack_bytes   integer not null,         -- bytes of packs
    primary key (run, caller)
) strict, without rowid;

-- Replies under an idempotency key, by caller.
create table reply_holdings (
    caller   text    not null primary key, -- `idempotency.caller`
    replies  integer not null,             -- replies
    bytes    integer not null              -- their bytes as stored
) strict, without rowid;

insert into reply_holdings (caller, replies, bytes)
select caller, count(*), sum(length(reply)) from idempotency where reply is not null
group by caller;

create trigger replies_are_counted after insert on idempotency when new.reply is not null
begin
    insert into reply_holdings (caller, replies, bytes)
    values (new.caller, 1, length(new.reply))
    on conflict (caller) do update set replies = replies + 1, bytes = bytes + excluded.bytes;
end;

create trigger deleted_replies_are_counted after delete on idempotency when old.reply is not null
begin
    update reply_holdings set replies = replies - 1, bytes = bytes - length(old.reply)
    where caller = old.caller;
end;

create trigger changed_replies_are_counted after update of reply on idempotency
begin
    insert into reply_holdings (caller, replies, bytes) values (new.caller, 0, 0)
    on conflict (caller) do nothing;
    update reply_holdings set
        replies = replies + (new.reply is not null) - (old.reply is not null),
        bytes = bytes + coalesce(length(new.reply), 0) - coalesce(length(old.reply), 0)
    where caller = new.caller;
end;

-- Numbers of batches that retention deleted, so that other missing numbers are found.
create table deleted_batches (
    first  integer primary key,            -- number of the first
    last   integer not null                -- number of the last, inclusive
) strict;

-- The position up to which bodies of deleted packs were removed from `bodies`; no row if there are
-- none.
create table body_sweep (
    running  integer primary key check (running = 1), -- always 1
    after    blob    not null              -- hash of the last body that was looked at
) strict;
