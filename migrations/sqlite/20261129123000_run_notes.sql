-- What operators note about a run.
alter table runs add column tags text not null default '';       -- tags, separated by spaces
alter table runs add column note text not null default '';       -- a text
alter table runs add column archived integer not null default 0; -- 1 if lists leave the run out

-- Sums over the rewards of its grades, by which lists of runs are sorted. An earlier node that
-- records grades after this migration does not add theirs.
alter table runs add column rewards integer not null default 0;     -- grades with a reward
alter table runs add column reward_sum real not null default 0.0;   -- sum of those rewards

update runs set
    rewards = coalesce((select sum(n.count) from step_numbers n
        where n.run = runs.no and n.width = 4096 and n.number = 'reward'), 0),
    reward_sum = coalesce((select sum(n.sum) from step_numbers n
        where n.run = runs.no and n.width = 4096 and n.number = 'reward'), 0.0);
