-- Completions, prompts and tasks, many of them compressed together: 32 completions of 2 kB in one
-- pack take half the time and half the space of 32 that are compressed separately.
create table packs (
    no       integer primary key,          -- number of the pack
    codec    integer not null,             -- 0: not compressed, 1: zstd
    size     integer not null,             -- bytes when unpacked
    content  blob    not null              -- the bodies, concatenated
) strict;

-- The location of each body. Bodies with the same hash are stored once.
create table bodies (
    hash   blob    not null primary key,   -- BLAKE3 of the content, 32 bytes
    kind   integer not null,               -- 0: text, 1: messages, 2: task
    pack   integer not null,               -- `packs.no`
    start  integer not null,               -- first byte within the unpacked pack
    size   integer not null                -- bytes
) strict, without rowid;
