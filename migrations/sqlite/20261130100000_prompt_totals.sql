-- Sums over the visits of a prompt, kept up to date by triggers of `prompt_history`: of its visits
-- with a step and, in another row, of those without one. The number of a visit is twice its step
-- (0 without one, at most 2^62), plus 1 if at least half of its rollouts passed.
create table prompt_totals (
    run             integer not null,        -- `runs.no`
    prompt_key      text    not null,        -- key of the prompt
    has_step        integer not null,        -- 1 for visits with a step, 0 for those without one
    visits          integer not null,        -- visits in which rollouts passed or failed
    judged          integer not null,        -- rollouts whose verdict is a pass or a fail
    passes          integer not null,        -- of those, passed, after appeals
    rewards         integer not null,        -- rollouts with a reward
    reward_sum      real    not null,        -- sum of the rewards
    reward_squares  real    not null,        -- sum of their squares
    solved          integer not null,        -- visits in which at least half of the rollouts passed
    first_visit     integer not null,        -- number of the first visit
    last_visit      integer not null,        -- number of the last visit
    primary key (run, prompt_key, has_step)
) strict, without rowid;

insert into prompt_totals (run, prompt_key, has_step, visits, judged, passes, rewards, reward_sum,
    reward_squares, solved, first_visit, last_visit)
select run, prompt_key, has_step, sum(counts), cast(min(total(judged), 9.2e18) as integer),
    cast(min(total(passes), 9.2e18) as integer), cast(min(total(rewards), 9.2e18) as integer),
    coalesce(max(-1e300, min(1e300, total(reward_sum))), 0.0),
    coalesce(max(-1e300, min(1e300, total(reward_squares))), 0.0), sum(counts * (visit & 1)),
    coalesce(min(case when counts then visit end), 0),
    coalesce(max(case when counts then visit end), 0)
from (
    select run, prompt_key, step > -9223372036854775808 as has_step, judged, passes, rewards,
        reward_sum, reward_squares, judged > 0 as counts,
        case when step > -9223372036854775808
            then max(-2305843009213693952, min(2305843009213693951, step)) else 0 end * 2
            + (passes >= judged - passes) as visit
    from prompt_history)
group by run, prompt_key, has_step;

-- Ranges of steps are read from this index alone.
create index prompt_history_by_step on prompt_history (run, step, prompt_key, judged, passes,
    rewards, reward_sum, reward_squares);

create trigger visits_are_summed after insert on prompt_history
begin
    insert into prompt_totals (run, prompt_key, has_step, visits, judged, passes, rewards,
        reward_sum, reward_squares, solved, first_visit, last_visit)
    select new.run, new.prompt_key, new.step > -9223372036854775808, new.judged > 0, new.judged,
        new.passes, new.rewards, max(-1e300, min(1e300, new.reward_sum)),
        max(-1e300, min(1e300, new.reward_squares)), (new.judged > 0) * (visit & 1),
        (new.judged > 0) * visit, (new.judged > 0) * visit
    from (select case when new.step > -9223372036854775808
        then max(-2305843009213693952, min(2305843009213693951, new.step)) else 0 end * 2
        + (new.passes >= new.judged - new.passes) as visit)
    where true
    on conflict (run, prompt_key, has_step) do update set
        first_visit = case when excluded.visits > 0
            and (visits = 0 or excluded.first_visit < first_visit)
            then excluded.first_visit else first_visit end,
        last_visit = case when excluded.visits > 0
            and (visits = 0 or excluded.last_visit > last_visit)
            then excluded.last_visit else last_visit end,
        visits = visits + excluded.visits,
        judged = min(9223372036854775807 - excluded.judged, judged) + excluded.judged,
        passes = min(9223372036854775807 - excluded.passes, passes) + excluded.passes,
        rewards = min(9223372036854775807 - excluded.rewards, rewards) + excluded.rewards,
        reward_sum = max(-1e300, min(1e300, reward_sum + excluded.reward_sum)),
        reward_squares = max(-1e300, min(1e300, reward_squares + excluded.reward_squares)),
        solved = solved + excluded.solved;
end;

create trigger changed_visits_are_summed
after update of judged, passes, rewards, reward_sum, reward_squares on prompt_history
begin
    update prompt_totals set
        first_visit = case when new.judged > 0 and (visits = 0 or visit >> 1 <= first_visit >> 1)
            then visit else first_visit end,
        last_visit = case when new.judged > 0 and (visits = 0 or visit >> 1 >= last_visit >> 1)
            then visit else last_visit end,
        visits = visits + (new.judged > 0) - (old.judged > 0),
        judged = min(9223372036854775807 - new.judged, judged - old.judged) + new.judged,
        passes = min(9223372036854775807 - new.passes, passes - old.passes) + new.passes,
        rewards = min(9223372036854775807 - new.rewards, rewards - old.rewards) + new.rewards,
        reward_sum = max(-1e300, min(1e300,
            coalesce(reward_sum + (new.reward_sum - old.reward_sum), 0.0))),
        reward_squares = max(-1e300, min(1e300,
            coalesce(reward_squares + (new.reward_squares - old.reward_squares), 0.0))),
        solved = solved + (new.judged > 0 and new.passes >= new.judged - new.passes)
            - (old.judged > 0 and old.passes >= old.judged - old.passes)
    from (select case when new.step > -9223372036854775808
        then max(-2305843009213693952, min(2305843009213693951, new.step)) else 0 end * 2
        + (new.passes >= new.judged - new.passes) as visit)
    where run = new.run and prompt_key = new.prompt_key
        and has_step = (new.step > -9223372036854775808);
end;
