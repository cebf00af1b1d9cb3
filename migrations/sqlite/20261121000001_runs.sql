-- Training runs, with totals over their grades. The writer updates them in the transaction that
-- inserts the grades, so that listing runs does not scan grades.
create table runs (
    no          integer primary key,       -- number of the run, from 1; elsewhere 0 means "no run"
    name        text    not null unique,   -- name, as sent
    grades      integer not null,          -- grades of all steps
    graded      integer not null,          -- of those, with outcome `graded`
    ungradable  integer not null,          -- of those, with outcome `ungradable`
    failed      integer not null,          -- of those, with outcome `failed`
    passed      integer not null,          -- of the graded, passed
    scores      integer not null,          -- grades that have a score
    score_sum   real    not null,          -- sum of those scores
    last_step   integer,                   -- highest step
    first_us    integer not null,          -- time of the first grade, Unix time in microseconds
    last_us     integer not null           -- time of the last grade, Unix time in microseconds
) strict;

-- Sums for charts: one row for each run, step, grader, outcome and verdict.
create table rollups (
    run            integer not null,       -- `runs.no`, 0 without a run
    step           integer not null,       -- step of the run, -9223372036854775808 without one
    grader         text    not null,       -- name of the grader
    version        integer not null,       -- version of the grader
    outcome        text    not null,       -- `graded`, `ungradable` or `failed`
    verdict        text    not null,       -- verdict, empty without one
    grades         integer not null,       -- grades
    passes         integer not null,       -- of those, passed
    scores         integer not null,       -- of those, with a score
    score_sum      real    not null,       -- sum of the scores
    score_squares  real    not null,       -- sum of their squares
    grade_us       integer not null,       -- sum of the grading times, microseconds
    queue_us       integer not null,       -- sum of the waiting times, microseconds
    primary key (run, step, grader, version, outcome, verdict)
) strict, without rowid;
