-- What each process of a node has admitted of the quotas of keys, for the meters of other nodes.
-- Not in SQLite, which one node uses.
create table quota_uses (
    process     text collate "C" not null,  -- name that a node chooses when it starts
    key         text collate "C" not null,  -- `keys.id`
    items       bigint not null,  -- items admitted since the process started
    cpu_us      bigint not null,  -- time charged since then, microseconds
    in_flight   bigint not null,  -- items in progress
    -- When the row was written, Unix time of the server, microseconds.
    written_us  bigint not null default (extract(epoch from clock_timestamp()) * 1000000)::bigint,
    primary key (process, key)
);
