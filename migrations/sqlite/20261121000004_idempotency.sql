-- Requests seen under an `Idempotency-Key`, with their replies; kept for a day.
create table idempotency (
    no       integer primary key,          -- number of the row
    caller   text    not null,             -- who sent it; keys of two callers never meet
    key      text    not null,             -- the header
    request  blob    not null,             -- hash of the request, 32 bytes
    batch    blob    not null,             -- id of the batch it became, 16 bytes big-endian
    time_us  integer not null,             -- when it was claimed, microseconds since the Unix epoch
    media    text,                         -- `Content-Type` of the reply; null while there is none
    codec    integer,                      -- of the reply, as in `packs`
    size     integer,                      -- bytes of the reply when unpacked
    reply    blob,                         -- the reply's body
    unique (caller, key)
) strict;

-- What the daily purge looks for.
create index idempotency_by_time on idempotency (time_us);
