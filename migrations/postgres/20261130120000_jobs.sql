-- Jobs: data sets that nodes grade in shards, in the background. They are written directly, as keys
-- are, and not through the spool.
create table jobs (
    id            bytea primary key,  -- ULID, 16 bytes big-endian, so that ids sort by time
    kind          text collate "C" not null,  -- `grade`
    caller        text collate "C" not null,  -- name of the key that submitted it
    share         text collate "C" not null,  -- whose share of a node it uses
    run           text collate "C",  -- name of the run, as recorded
    step          bigint,  -- step of the run
    policy        text collate "C",  -- name of the reward policy of items without one
    key           text collate "C",  -- `Idempotency-Key` of the request
    request       bytea,  -- hash of the request; null until it was received
    holder        text collate "C" not null,  -- spool of the node that received it
    submitted_us  bigint not null,  -- when the request began, Unix time in microseconds
    received_us   bigint,  -- when all shards were stored; null before
    cancelled_us  bigint,  -- when it was cancelled
    finished_us   bigint  -- when its last shard was finished
);

create unique index jobs_keys on jobs (caller, key) where key is not null;

create index jobs_open on jobs (id) where finished_us is null and cancelled_us is null;

-- Shards of jobs: consecutive lines of whole groups, which one node grades as one batch.
create table job_shards (
    job         bytea not null,  -- `jobs.id`
    no          bigint not null,  -- number in the job, from 0
    state       bigint not null,  -- 0 waits, 1 runs, 2 done, 3 set aside
    first_line  bigint not null,  -- number of its first line in the file, from 1
    items       bigint not null,  -- lines that are not blank
    until_us    bigint not null default 0,  -- when its lease ends, or when it may be tried again
    tries       bigint not null default 0,  -- how often a node began to grade it
    holder      text collate "C",  -- spool of the node that grades it
    batch       bytea,  -- `batches.id`, from the first try on
    claimed_us  bigint,  -- when a node last began to grade it
    done_us     bigint,  -- when it was finished
    graded      bigint not null default 0,  -- items with outcome `graded`
    passed      bigint not null default 0,  -- of those, passed
    ungradable  bigint not null default 0,  -- items with outcome `ungradable`
    failed      bigint not null default 0,  -- items with outcome `failed`
    invalid     bigint not null default 0,  -- lines that are not valid items
    problems    text collate "C",  -- why those lines are invalid, a JSON array
    reason      text collate "C",  -- why the last try failed
    codec       bigint,  -- how `content` is compressed, as in `packs`
    size        bigint not null,  -- bytes of the lines
    content     bytea,  -- the lines; null once they are graded
    primary key (job, no)
);

create index job_shards_state on job_shards (job, state, no);
