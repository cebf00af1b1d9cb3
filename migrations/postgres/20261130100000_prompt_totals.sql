-- Sums over the visits of a prompt, kept up to date by triggers of `prompt_history`: of its visits
-- with a step and, in another row, of those without one. The number of a visit is twice its step
-- (0 without one, at most 2^62), plus 1 if at least half of its rollouts passed.
create table prompt_totals (
    run             bigint not null,  -- `runs.no`
    prompt_key      text collate "C" not null,  -- key of the prompt
    has_step        bigint not null,  -- 1 for visits with a step, 0 for those without one
    visits          bigint not null,  -- visits in which rollouts passed or failed
    judged          bigint not null,  -- rollouts whose verdict is a pass or a fail
    passes          bigint not null,  -- of those, passed, after appeals
    rewards         bigint not null,  -- rollouts with a reward
    reward_sum      double precision not null,  -- sum of the rewards
    reward_squares  double precision not null,  -- sum of their squares
    solved          bigint not null,  -- visits in which at least half of the rollouts passed
    first_visit     bigint not null,  -- number of the first visit
    last_visit      bigint not null,  -- number of the last visit
    primary key (run, prompt_key, has_step)
);

-- The number of a visit.
create function visit_number(step bigint, judged bigint, passes bigint) returns bigint
language sql immutable as $$
    select case when step > -9223372036854775808
        then greatest(-2305843009213693952, least(2305843009213693951, step)) else 0 end * 2
        + (passes >= judged - passes)::integer
$$;

-- A sum of numbers that can be added to others.
create function bounded_sum(number double precision) returns double precision
language sql immutable as $$
    select case when number = 'NaN' then 0.0 else greatest(-1e300, least(1e300, number)) end
$$;

-- A sum of counts of one prompt as an integer.
create function bounded_count(number numeric) returns bigint
language sql immutable as $$
    select least(number, 9223372036854775807)::bigint
$$;

insert into prompt_totals (run, prompt_key, has_step, visits, judged, passes, rewards, reward_sum,
    reward_squares, solved, first_visit, last_visit)
select run, prompt_key, (step > -9223372036854775808)::integer, count(*) filter (where judged > 0),
    bounded_count(sum(judged)), bounded_count(sum(passes)), bounded_count(sum(rewards)),
    bounded_sum(sum(bounded_sum(reward_sum))), bounded_sum(sum(bounded_sum(reward_squares))),
    coalesce(sum(visit_number(step, judged, passes) & 1) filter (where judged > 0), 0),
    coalesce(min(visit_number(step, judged, passes)) filter (where judged > 0), 0),
    coalesce(max(visit_number(step, judged, passes)) filter (where judged > 0), 0)
from prompt_history
group by 1, 2, 3;

-- Ranges of steps are read from this index alone.
create index prompt_history_by_step on prompt_history (run, step)
include (prompt_key, judged, passes, rewards, reward_sum, reward_squares);

create function sum_visits() returns trigger language plpgsql as $$
begin
    insert into prompt_totals as t (run, prompt_key, has_step, visits, judged, passes, rewards,
        reward_sum, reward_squares, solved, first_visit, last_visit)
    select run, prompt_key, (step > -9223372036854775808)::integer,
        count(*) filter (where judged > 0), bounded_count(sum(judged)), bounded_count(sum(passes)),
        bounded_count(sum(rewards)), bounded_sum(sum(bounded_sum(reward_sum))),
        bounded_sum(sum(bounded_sum(reward_squares))),
        coalesce(sum(visit_number(step, judged, passes) & 1) filter (where judged > 0), 0),
        coalesce(min(visit_number(step, judged, passes)) filter (where judged > 0), 0),
        coalesce(max(visit_number(step, judged, passes)) filter (where judged > 0), 0)
    from added
    group by 1, 2, 3
    on conflict (run, prompt_key, has_step) do update set
        visits = t.visits + excluded.visits,
        judged = bounded_count(t.judged::numeric + excluded.judged),
        passes = bounded_count(t.passes::numeric + excluded.passes),
        rewards = bounded_count(t.rewards::numeric + excluded.rewards),
        reward_sum = bounded_sum(t.reward_sum + excluded.reward_sum),
        reward_squares = bounded_sum(t.reward_squares + excluded.reward_squares),
        solved = t.solved + excluded.solved,
        first_visit = case when excluded.visits > 0
            and (t.visits = 0 or excluded.first_visit < t.first_visit)
            then excluded.first_visit else t.first_visit end,
        last_visit = case when excluded.visits > 0
            and (t.visits = 0 or excluded.last_visit > t.last_visit)
            then excluded.last_visit else t.last_visit end;
    return null;
end $$;

create trigger visits_are_summed after insert on prompt_history
referencing new table as added for each statement execute function sum_visits();

create function sum_changed_visits() returns trigger language plpgsql as $$
begin
    update prompt_totals t set
        visits = t.visits + c.visits,
        judged = bounded_count(t.judged + c.judged),
        passes = bounded_count(t.passes + c.passes),
        rewards = bounded_count(t.rewards + c.rewards),
        reward_sum = bounded_sum(t.reward_sum + c.reward_sum),
        reward_squares = bounded_sum(t.reward_squares + c.reward_squares),
        solved = t.solved + c.solved,
        first_visit = case when t.visits = 0 or c.first_visit >> 1 <= t.first_visit >> 1
            then coalesce(c.first_visit, 0) else t.first_visit end,
        last_visit = case when t.visits = 0 or c.last_visit >> 1 >= t.last_visit >> 1
            then coalesce(c.last_visit, 0) else t.last_visit end
    from (
        select n.run, n.prompt_key, (n.step > -9223372036854775808)::integer as has_step,
            sum((n.judged > 0)::integer - (o.judged > 0)::integer) as visits,
            sum(n.judged) - sum(o.judged) as judged, sum(n.passes) - sum(o.passes) as passes,
            sum(n.rewards) - sum(o.rewards) as rewards,
            bounded_sum(sum(bounded_sum(n.reward_sum - o.reward_sum))) as reward_sum,
            bounded_sum(sum(bounded_sum(n.reward_squares - o.reward_squares)))
                as reward_squares,
            sum((n.judged > 0 and n.passes >= n.judged - n.passes)::integer
                - (o.judged > 0 and o.passes >= o.judged - o.passes)::integer) as solved,
            min(visit_number(n.step, n.judged, n.passes)) filter (where n.judged > 0)
                as first_visit,
            max(visit_number(n.step, n.judged, n.passes)) filter (where n.judged > 0)
                as last_visit
        from after n join before o using (run, prompt_key, step)
        group by 1, 2, 3
    ) as c
    where t.run = c.run and t.prompt_key = c.prompt_key and t.has_step = c.has_step;
    return null;
end $$;

create trigger changed_visits_are_summed after update on prompt_history
referencing old table as before new table as after
for each statement execute function sum_changed_visits();
