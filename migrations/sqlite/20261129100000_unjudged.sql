-- Items that no judge could have checked, because their policy has no judge for their channel.
-- Rates that judges measure are about the other items. 0 for items recorded before this migration.
alter table channels add column unjudged_negatives integer not null default 0;  -- not passed
alter table channels add column unjudged_positives integer not null default 0;  -- passed
