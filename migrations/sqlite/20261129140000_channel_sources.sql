-- Counts of the items of a channel by run and by policy, as those of `channels` by time. Grades
-- that were recorded before this migration, or by an earlier node, are not in it.
create table channel_sources (
    channel               text    not null,  -- as in `channels`
    version               integer not null,  -- as in `channels`
    run                   integer not null,  -- `runs.no`, 0 without a run, -1 for a policy
    policy                text    not null,  -- name of the policy, empty for a run
    negatives             integer not null,  -- not passed
    positives             integer not null,  -- passed
    bound_negatives       integer not null,  -- negatives with a binding appeal
    bound_positives       integer not null,  -- positives with a binding appeal
    overturned_negatives  integer not null,  -- negatives that became passes
    overturned_positives  integer not null,  -- positives that became fails
    unjudged_negatives    integer not null,  -- negatives whose policy has no judge
    unjudged_positives    integer not null,  -- positives whose policy has no judge
    primary key (channel, version, run, policy)
) strict, without rowid;

create index channel_sources_by_run on channel_sources (run);

-- Results of checking these items, as those of `channel_checks` by time.
create table channel_source_checks (
    channel           text    not null,      -- as in `channel_sources`
    version           integer not null,      -- as in `channel_sources`
    run               integer not null,      -- as in `channel_sources`
    policy            text    not null,      -- as in `channel_sources`
    judge             text    not null,      -- as in `channel_checks`
    sensitivity       real    not null,      -- as in `channel_checks`
    specificity       real    not null,      -- as in `channel_checks`
    passes            integer not null,      -- as in `channel_checks`
    checks            integer not null,      -- number of checks
    disagreed         integer not null,      -- of those, with another verdict than the grader's
    weight            real    not null,      -- sum of 1/probability over the checks
    squares           real    not null,      -- sum of its squares
    disagreed_weight  real    not null,      -- sum of 1/probability over the disagreements
    primary key (channel, version, run, policy, judge, sensitivity, specificity, passes)
) strict, without rowid;

create index channel_source_checks_by_run on channel_source_checks (run);

-- Drawn grades that an operator has to adjudicate. An adjudication deletes the row.
create table assignments (
    grade    blob    not null primary key,  -- id of the grade, 16 bytes big-endian
    caller   text    not null,              -- name of the operator; empty if any may take it
    time_us  integer not null               -- when it was assigned, Unix time in microseconds
) strict, without rowid;

create index assignments_by_time on assignments (time_us);
create index assignments_by_caller on assignments (caller, time_us);
