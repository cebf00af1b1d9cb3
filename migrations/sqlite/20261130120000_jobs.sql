-- Jobs: data sets that nodes grade in shards, in the background. They are written directly, as keys
-- are, and not through the spool.
create table jobs (
    id            blob    not null primary key, -- ULID, 16 bytes big-endian; sorts by time
    kind          text    not null,             -- `grade`
    caller        text    not null,             -- name of the key that submitted it
    share         text    not null,             -- whose share of a node it uses
    run           text,                         -- name of the run, as recorded
    step          integer,                      -- step of the run
    policy        text,                         -- name of the reward policy of items without one
    key           text,                         -- `Idempotency-Key` of the request
    request       blob,                         -- hash of the request; null until it was received
    holder        text    not null,             -- spool of the node that received it
    submitted_us  integer not null,             -- when the request began, Unix time in microseconds
    received_us   integer,                      -- when all shards were stored; null before
    cancelled_us  integer,                      -- when it was cancelled
    finished_us   integer                       -- when its last shard was finished
) strict, without rowid;

create unique index jobs_keys on jobs (caller, key) where key is not null;

create index jobs_open on jobs (id) where finished_us is null and cancelled_us is null;

-- Shards of jobs: consecutive lines of whole groups, which one node grades as one batch.
create table job_shards (
    job         blob    not null,              -- `jobs.id`
    no          integer not null,              -- number in the job, from 0
    state       integer not null,              -- 0 waits, 1 runs, 2 done, 3 set aside
    first_line  integer not null,              -- number of its first line in the file, from 1
    items       integer not null,              -- lines that are not blank
    until_us    integer not null default 0,    -- when its lease ends, or when it may be tried again
    tries       integer not null default 0,    -- how often a node began to grade it
    holder      text,                          -- spool of the node that grades it
    batch       blob,                          -- `batches.id`, from the first try on
    claimed_us  integer,                       -- when a node last began to grade it
    done_us     integer,                       -- when it was finished
    graded      integer not null default 0,    -- items with outcome `graded`
    passed      integer not null default 0,    -- of those, passed
    ungradable  integer not null default 0,    -- items with outcome `ungradable`
    failed      integer not null default 0,    -- items with outcome `failed`
    invalid     integer not null default 0,    -- lines that are not valid items
    problems    text,                          -- why those lines are invalid, a JSON array
    reason      text,                          -- why the last try failed
    codec       integer,                       -- how `content` is compressed, as in `packs`
    size        integer not null,              -- bytes of the lines
    content     blob,                          -- the lines; null once they are graded
    primary key (job, no)
) strict;

create index job_shards_state on job_shards (job, state, no);
