-- Requests with an `Idempotency-Key` and their replies. Rows are kept for a day.
create table idempotency (
    no       integer primary key,          -- number of the row
    caller   text    not null,             -- name of the key that sent it; each has its own scope
    key      text    not null,             -- value of the header
    request  blob    not null,             -- hash of the request, 32 bytes
    batch    blob    not null,             -- id of its batch, 16 bytes big-endian
    time_us  integer not null,             -- when it was claimed, Unix time in microseconds
    media    text,                         -- `Content-Type` of the reply; null without a reply
    codec    integer,                      -- codec of the reply, as in `packs`
    size     integer,                      -- bytes of the reply when unpacked
    reply    blob,                         -- body of the reply
    unique (caller, key)
) strict;

-- Used to delete old rows.
create index idempotency_by_time on idempotency (time_us);
