-- Counts of passes are those after appeals, as those of `prompt_history` were before:
-- `runs.passed`, `rollups.passes` and the topic `pass` of `step_words`. The statements below
-- convert them for the grades that are stored. Lengths of completions that passed, in
-- `step_numbers`, are converted for new grades only.
create temporary table overturned as
select b.run as run, coalesce(b.step, -9223372036854775807 - 1) as step, k.grader as grader,
    k.version as version, k.outcome as outcome, coalesce(k.verdict, '') as verdict,
    sum(case when k.pass = 0 then 1 else -1 end) as passes
from kinds k cross join grades g indexed by grades_by_kind cross join batches b
where k.appeal = 'overturned' and k.pass is not null and g.kind = k.no and b.no = g.key >> 24
group by b.run, b.step, k.grader, k.version, k.outcome, k.verdict;

update runs set passed = max(0, passed + (
    select sum(o.passes) from overturned o where o.run = runs.no))
where no in (select run from overturned);

update rollups set passes = max(0, passes + (
    select o.passes from overturned o
    where o.run = rollups.run and o.step = rollups.step and o.grader = rollups.grader
        and o.version = rollups.version and o.outcome = rollups.outcome
        and o.verdict = rollups.verdict))
where (run, step, grader, version, outcome, verdict) in (
    select run, step, grader, version, outcome, verdict from overturned);

create temporary table overturned_steps as
select o.run as run, w.width as width,
    case when o.step < ((o.step % w.width) + w.width) % w.width - 9223372036854775807 - 1
        then -9223372036854775807 - 1
        else o.step - ((o.step % w.width) + w.width) % w.width end as first,
    sum(o.passes) as passes
from overturned o
cross join (select 1 as width union all select 16 union all select 256 union all select 4096) w
where o.run <> 0
group by o.run, w.width, first;

-- Only of steps that have sums.
insert into step_words (run, width, step, topic, word, grades)
select s.run, s.width, s.first, 'pass', 'pass', 0 from overturned_steps s
where exists (select 1 from step_words x
    where x.run = s.run and x.width = s.width and x.step = s.first and x.topic = 'outcome')
    and not exists (select 1 from step_words x
    where x.run = s.run and x.width = s.width and x.step = s.first and x.topic = 'pass');

update step_words set grades = max(0, grades + (
    select s.passes from overturned_steps s
    where s.run = step_words.run and s.width = step_words.width and s.first = step_words.step))
where topic = 'pass' and word = 'pass' and (run, width, step) in (
    select run, width, first from overturned_steps);

drop table overturned_steps;
drop table overturned;
