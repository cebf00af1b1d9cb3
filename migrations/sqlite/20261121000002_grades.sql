-- Batches: what all grades of one request share.
create table batches (
    no           integer primary key,      -- number of the batch in this database, in the order of arrival
    id           blob    not null unique,  -- its ULID, 16 bytes big-endian, so that ids sort by time
    run          integer not null,         -- `runs.no`, 0 without a run
    step         integer,                  -- step of the run, as sent
    caller       text    not null,         -- who sent it: the name of the key
    items        integer not null,         -- items in the whole batch
    received_us  integer not null,         -- when it came in, microseconds since the Unix epoch
    first_us     integer not null,         -- earliest time of its grades: lists by time skip whole batches
    last_us      integer not null          -- latest time of its grades
) strict;

-- Lists of one run, and of one step of it, newest batch first. Unique, so that the query planner knows a batch comes once and needs
-- no sorting.
create unique index batches_by_run on batches (run, id);
create unique index batches_by_step on batches (run, step, id) where step is not null;

-- What many grades have in common, once: at a few hundred kinds for millions of grades, a number says it in each row.
create table kinds (
    no             integer primary key,    -- number of the kind
    spec           blob    not null unique, -- all columns below in one encoding, by which a kind is found again
    channel        text    not null,       -- grader and task family
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- its version
    image          blob,                   -- hash of the guest's image, 32 bytes
    policy         text    not null,       -- policy that made the reward
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text,                   -- verdict of a graded item
    pass           integer,                -- 1 if the verdict is a pass, 0 if not
    deterministic  integer not null,       -- 1 if grading again gives the same verdict
    cached         integer not null        -- 1 if the outcome came from the result cache
) strict;

-- Grades, append-only. What the batch already says (id, run, step, caller) is not said again: at 1,024 items a batch, an index over
-- batches costs a thousandth of one over grades.
create table grades (
    key              integer primary key,  -- `batches.no` shifted left by 24, plus the position in the batch
    kind             integer not null,     -- `kinds.no`
    item             text,                 -- the item's id, as sent
    in_group         text,                 -- the item's group, as sent
    prompt_key       text,                 -- name under which the prompt's history is kept over steps
    task_hash        blob    not null,     -- `bodies.hash` of the task
    completion_hash  blob    not null,     -- `bodies.hash` of the completion
    prompt_hash      blob,                 -- `bodies.hash` of the prompt
    score            real,                 -- correctness in [0, 1]
    reward           real,                 -- the finite reward
    components       text,                 -- checks and nested tasks, a JSON array
    steps            text,                 -- scores of steps, a JSON array
    measures         text,                 -- measures, a JSON object
    evidence         text,                 -- evidence, a JSON object
    error            text,                 -- `{code, message, retryable}` of an item without a score
    meta             text,                 -- facts the trainer sent along, a JSON object
    checks           text,                 -- checks beside the task, a JSON object
    queue_us         integer not null,     -- time until a worker took the item, microseconds
    grade_us         integer not null,     -- time the grading took, microseconds
    work             integer not null,     -- deterministic cost in the grader's unit
    time_us          integer not null      -- when it was graded, microseconds since the Unix epoch
) strict;

-- The one index over single grades: every other list starts from batches or facets.
create index grades_by_item on grades (item) where item is not null;

-- Which batches hold a grade of some kind: a list by verdict, grader, channel or rare outcome visits only those.
create table facets (
    facet  text    not null,               -- `verdict=correct`, `grader=math`, `channel=math/default`, `outcome=failed`
    run    integer not null,               -- `runs.no`; each facet stands once more under 0, which here means any run
    batch  blob    not null,               -- `batches.id`
    primary key (facet, run, batch)
) strict, without rowid;

-- A row here, written and removed by a retention run within its own transaction, is what lets grades be deleted.
create table retention (
    running  integer primary key check (running = 1)  -- always 1
) strict;

create trigger grades_are_not_changed before update on grades
begin
    select raise(abort, 'grades are append-only: write a new grade instead');
end;

create trigger grades_are_not_deleted before delete on grades
when not exists (select 1 from retention)
begin
    select raise(abort, 'grades are append-only: only a retention run deletes them');
end;
