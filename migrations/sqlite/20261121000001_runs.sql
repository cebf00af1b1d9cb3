-- Training runs, with totals over their grades. Kept by the writer in the transaction that inserts the grades, so a list of runs never
-- scans grades.
create table runs (
    no          integer primary key,       -- number of the run, from 1; other tables write 0 for "no run"
    name        text    not null unique,   -- name, as sent
    grades      integer not null,          -- grades of all steps
    graded      integer not null,          -- of those, with outcome `graded`
    ungradable  integer not null,          -- of those, with outcome `ungradable`
    failed      integer not null,          -- of those, with outcome `failed`
    passed      integer not null,          -- of the graded, passed
    scores      integer not null,          -- grades that have a score
    score_sum   real    not null,          -- sum of those scores
    last_step   integer,                   -- highest step seen
    first_us    integer not null,          -- time of the first grade, microseconds since the Unix epoch
    last_us     integer not null           -- time of the last grade, microseconds since the Unix epoch
) strict;

-- Sums for charts: one row for each run, step, grader, outcome and verdict that occurred.
create table rollups (
    run            integer not null,       -- `runs.no`, 0 without a run
    step           integer not null,       -- step of the run, -9223372036854775808 without one
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- its version
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text    not null,       -- verdict, empty without one
    grades         integer not null,       -- grades
    passes         integer not null,       -- of those, passed
    scores         integer not null,       -- of those, with a score
    score_sum      real    not null,       -- sum of the scores
    score_squares  real    not null,       -- sum of their squares
    grade_us       integer not null,       -- sum of the time grading took, microseconds
    queue_us       integer not null,       -- sum of the time spent waiting, microseconds
    primary key (run, step, grader, version, outcome, verdict)
) strict, without rowid;
