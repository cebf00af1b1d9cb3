-- Counts of rollouts by prompt and step of a run. Masked items are not counted.
create table prompt_history (
    run             integer not null,        -- `runs.no`
    prompt_key      text    not null,        -- key of the prompt
    step            integer not null,        -- step of the run, -9223372036854775808 without one
    judged          integer not null,        -- rollouts whose verdict is a pass or a fail
    passes          integer not null,        -- of those, passed, after appeals
    rewards         integer not null,        -- rollouts with a reward
    reward_sum      real    not null,        -- sum of the rewards
    reward_squares  real    not null,        -- sum of their squares
    primary key (run, prompt_key, step)
) strict, without rowid;
