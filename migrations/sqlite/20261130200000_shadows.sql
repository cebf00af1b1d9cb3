-- Shadows: a share of the grades of a run is graded again as it is recorded, with fields set in the
-- tasks. Rewards do not change. Written directly, as jobs are.
create table shadows (
    id           blob    not null primary key, -- ULID, 16 bytes big-endian; sorts by time
    run          text    not null,             -- name of the run, as recorded
    caller       text    not null,             -- name of the key that started it
    part         real    not null,             -- share of the grades, above 0 and at most 1
    options      text    not null,             -- the fields, a JSON object
    started_us   integer not null,             -- Unix time in microseconds
    next         integer not null,             -- `grades.key` from which it continues
    summary      text,                         -- what was found so far, a JSON object
    ended_us     integer,                      -- when it was ended
    promoted_us  integer,                      -- when its fields became those of the run
    withdrawn_us integer                       -- when they no longer were
) strict, without rowid;

-- One shadow of a run is open, and one is promoted.
create unique index shadows_open on shadows (run) where ended_us is null;
create unique index shadows_promoted on shadows (run)
    where promoted_us is not null and withdrawn_us is null;
create index shadows_of_run on shadows (run, id);
