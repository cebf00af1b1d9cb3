-- What items cost, by run, caller and grader. Like `rollups`, updated in the transaction that
-- inserts the grades, and kept when retention deletes them. Grades recorded before this migration
-- have no `cpu_us` and `bytes`.
create table costs (
    run       integer not null,            -- `runs.no`, 0 without a run
    caller    text    not null,            -- `batches.caller`
    grader    text    not null,            -- name of the grader
    grades    integer not null,            -- grades
    cpu_us    integer not null,            -- processor and sandbox time charged, microseconds
    grade_us  integer not null,            -- sum of the grading times, microseconds
    queue_us  integer not null,            -- sum of the times in the queue, microseconds
    work      integer not null,            -- sum of the deterministic costs
    bytes     integer not null,            -- bytes of completions and documents
    primary key (run, caller, grader)
) strict, without rowid;

insert into costs (run, caller, grader, grades, cpu_us, grade_us, queue_us, work, bytes)
select b.run, b.caller, k.grader, count(*), 0, sum(g.grade_us), sum(g.queue_us),
    cast(min(total(g.work), 9.2e18) as integer), 0
from grades g cross join batches b cross join kinds k
where b.no = g.key >> 24 and k.no = g.kind
group by b.run, b.caller, k.grader;

-- The fifty slowest grades of each run and grader.
create table slow_grades (
    run       integer not null,            -- `runs.no`, 0 without a run
    grader    text    not null,            -- name of the grader
    grade_us  integer not null,            -- time of grading, microseconds
    key       integer not null,            -- `grades.key`
    primary key (run, grader, grade_us, key)
) strict, without rowid;

insert into slow_grades (run, grader, grade_us, key)
select run, grader, grade_us, key from (
    select b.run as run, k.grader as grader, g.grade_us as grade_us, g.key as key,
        row_number() over (partition by b.run, k.grader order by g.grade_us desc) as place
    from grades g cross join batches b cross join kinds k
    where b.no = g.key >> 24 and k.no = g.kind)
where place <= 50;
