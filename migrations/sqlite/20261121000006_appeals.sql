-- What a second verifier and the policy made of a grade.
alter table grades add column appeal text;         -- a judge's look at the item, a JSON object; null when it was not chosen for one
alter table grades add column score_after real;    -- score after it, in [0, 1]
alter table grades add column advantage real;    -- number that was to be used as the advantage
alter table grades add column reward_breakdown text;    -- how the policy made the reward, a JSON object

alter table kinds add column policy_hash blob;     -- `bodies.hash` of the policy; null for the default one
alter table kinds add column appeal text;          -- `overturned`, `upheld`, `disagreed` or `unjudged`; null without an appeal
