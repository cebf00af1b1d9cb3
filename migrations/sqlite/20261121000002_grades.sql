-- Batches: the columns that all grades of one request have in common.
create table batches (
    no           integer primary key,      -- number of the batch, in order of arrival
    id           blob    not null unique,  -- ULID, 16 bytes big-endian, so that ids sort by time
    run          integer not null,         -- `runs.no`, 0 without a run
    step         integer,                  -- step of the run, as sent
    caller       text    not null,         -- name of the key that sent it
    items        integer not null,         -- items in the whole batch
    received_us  integer not null,         -- when it was received, Unix time in microseconds
    first_us     integer not null,         -- earliest time of its grades, for lists by time
    last_us      integer not null          -- latest time of its grades
) strict;

-- Lists of one run, and of one step of a run, newest batch first. The indexes are unique so that
-- the query planner knows that a batch occurs once and does not sort.
create unique index batches_by_run on batches (run, id);
create unique index batches_by_step on batches (run, step, id) where step is not null;

-- Kinds: the columns that many grades have in common, stored once. Millions of grades have a few
-- hundred kinds, so each grade stores only the number of its kind.
create table kinds (
    no             integer primary key,    -- number of the kind
    spec           blob    not null unique, -- encoding of all columns below, used to find a kind
    channel        text    not null,       -- grader and task family
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- version of the grader
    image          blob,                   -- hash of the guest's image, 32 bytes
    policy         text    not null,       -- name of the reward policy
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text,                   -- verdict of a graded item
    pass           integer,                -- 1 if the verdict is a pass, 0 if not
    deterministic  integer not null,       -- 1 if grading again gives the same verdict
    cached         integer not null        -- 1 if the outcome came from the result cache
) strict;

-- Grades, append-only. The columns of the batch (id, run, step, caller) are not repeated: at 1,024
-- items per batch, an index over batches is a thousandth of the size of one over grades.
create table grades (
    key              integer primary key,  -- `batches.no` << 24, plus the position in the batch
    kind             integer not null,     -- `kinds.no`
    item             text,                 -- the item's id, as sent
    in_group         text,                 -- the item's group, as sent
    prompt_key       text,                 -- key of the prompt's history
    task_hash        blob    not null,     -- `bodies.hash` of the task
    completion_hash  blob    not null,     -- `bodies.hash` of the completion
    prompt_hash      blob,                 -- `bodies.hash` of the prompt
    score            real,                 -- correctness in [0, 1]
    reward           real,                 -- reward, finite
    components       text,                 -- checks and nested tasks, a JSON array
    steps            text,                 -- scores of steps, a JSON array
    measures         text,                 -- measures, a JSON object
    evidence         text,                 -- evidence, a JSON object
    error            text,                 -- `{code, message, retryable}`; null with a score
    meta             text,                 -- metadata that the trainer sent, a JSON object
    checks           text,                 -- additional tasks, a JSON object
    queue_us         integer not null,     -- time until a worker started the item, microseconds
    grade_us         integer not null,     -- time of grading, microseconds
    work             integer not null,     -- deterministic cost in the grader's unit
    time_us          integer not null      -- when it was graded, Unix time in microseconds
) strict;

-- The only index of this file over single grades: other lists start from batches or facets.
create index grades_by_item on grades (item) where item is not null;

-- Facets: the batches that contain a grade with some property. Lists by verdict, grader, channel or
-- rare outcome visit only these batches.
create table facets (
    facet  text    not null,               -- such as `verdict=correct` or `channel=math/default`
    run    integer not null,               -- `runs.no`; each facet also has a row with 0, any run
    batch  blob    not null,               -- `batches.id`
    primary key (facet, run, batch)
) strict, without rowid;

-- Grades can be deleted only while this table has a row. A retention run inserts and removes the
-- row in its own transaction.
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
