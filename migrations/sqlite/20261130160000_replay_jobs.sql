-- Jobs of the kind `replay`: their lines are ids of grades, which are graded again. Nothing is
-- recorded; a shard keeps its results as `content`.

-- what applies to all lines of the job, a JSON object: for `replay`, the fields set in its tasks
alter table jobs add column options text;

-- what the lines have in common, a JSON object: for `replay`, the verdicts by stored verdict
alter table job_shards add column summary text;
