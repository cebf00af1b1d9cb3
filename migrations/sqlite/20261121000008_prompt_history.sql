-- Rollouts of each prompt at each step of a run; masked items are in none of the numbers.
create table prompt_history (
    run             integer not null,        -- `runs.no`
    prompt_key      text    not null,        -- name of the prompt
    step            integer not null,        -- step of the run, -9223372036854775808 without one
    judged          integer not null,        -- rollouts whose verdict has a notion of pass
    passes          integer not null,        -- of those, passed after all
    rewards         integer not null,        -- rollouts with a reward
    reward_sum      real    not null,        -- sum of the rewards
    reward_squares  real    not null,        -- sum of their squares
    primary key (run, prompt_key, step)
) strict, without rowid;
