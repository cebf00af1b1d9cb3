-- Appeal, advantage and reward breakdown of a grade.
alter table grades add column appeal text;          -- the appeal, a JSON object; null without one
alter table grades add column score_after real;     -- score after the appeal, in [0, 1]
alter table grades add column advantage real;       -- the advantage
alter table grades add column reward_breakdown text; -- how the reward was made, a JSON object

alter table kinds add column policy_hash blob;     -- `bodies.hash`; null for the default policy
-- `overturned`, `upheld`, `disagreed` or `unjudged`; null without an appeal.
alter table kinds add column appeal text;
