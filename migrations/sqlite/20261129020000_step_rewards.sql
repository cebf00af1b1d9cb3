-- Sums over the rewards of the grades that `step_words` counts, by which a change of the mean
-- reward is attributed to verdicts, channels and causes. Rows of earlier releases have none.
alter table step_words add column rewards integer not null default 0;     -- grades with a reward
alter table step_words add column reward_sum real not null default 0.0;   -- sum of rewards
alter table step_words add column reward_squares real not null default 0.0; -- sum of squares
