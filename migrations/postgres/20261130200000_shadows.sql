-- Shadows: a share of the grades of a run is graded again as it is recorded, with fields set in the
-- tasks. Rewards do not change. Written directly, as jobs are.
create table shadows (
    id           bytea not null primary key,  -- ULID, 16 bytes big-endian; sorts by time
    run          text collate "C" not null,  -- name of the run, as recorded
    caller       text collate "C" not null,  -- name of the key that started it
    part         double precision not null,  -- share of the grades, above 0 and at most 1
    options      text collate "C" not null,  -- the fields, a JSON object
    started_us   bigint not null,  -- Unix time in microseconds
    next         bigint not null,  -- `grades.key` from which it continues
    summary      text collate "C",  -- what was found so far, a JSON object
    ended_us     bigint,  -- when it was ended
    promoted_us  bigint,  -- when its fields became those of the run
    withdrawn_us bigint  -- when they no longer were
);

-- One shadow of a run is open, and one is promoted.
create unique index shadows_open on shadows (run) where ended_us is null;
create unique index shadows_promoted on shadows (run)
    where promoted_us is not null and withdrawn_us is null;
create index shadows_of_run on shadows (run, id);
