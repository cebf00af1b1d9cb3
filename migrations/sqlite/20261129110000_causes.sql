-- Two more columns that many grades have in common, by which lists are filtered. The encoding of a
-- kind in `spec` has them only if one has a value, so that other kinds keep their numbers. Grades
-- recorded before this migration count as complete and without a cause.
alter table kinds add column truncated integer not null default 0;  -- 1 if the completion was cut
alter table kinds add column cause text;  -- code of the error of an item without a score
