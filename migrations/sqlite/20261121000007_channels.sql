-- Items graded with a notion of pass, by channel, version of the grader and bucket of ten minutes. Replicas add to the same rows.
create table channels (
    channel               text    not null,  -- grader and task family
    version               integer not null,  -- version of the grader
    bucket               integer not null,  -- time in units of ten minutes since the Unix epoch
    negatives             integer not null,  -- not passed
    positives             integer not null,  -- passed
    bound_negatives       integer not null,  -- negatives whose judge had the last word
    bound_positives       integer not null,  -- positives whose judge had the last word
    overturned_negatives  integer not null,  -- negatives that became passes
    overturned_positives  integer not null,  -- positives that are passes no more
    repeats               integer not null,  -- completions that stood in their batch before, with the same task
    flips                 integer not null,  -- of those, given another verdict than the first time
    primary key (channel, version, bucket)
) strict, without rowid;

-- What second verifiers and operators found of them.
create table channel_checks (
    channel           text    not null,      -- as in `channels`
    version           integer not null,      -- as in `channels`
    bucket           integer not null,      -- as in `channels`
    judge             text    not null,      -- `operator`, or grader and version of a judge
    sensitivity       real    not null,      -- share of right answers that it passes, as the policy says
    specificity       real    not null,      -- share of wrong answers that it does not pass, as the policy says
    passes            integer not null,      -- 1 if the checked verdicts were passes, 0 if not
    checks            integer not null,      -- checks
    disagreed         integer not null,      -- of those, the judge disagreed with the grader
    weight            real    not null,      -- sum of 1/probability over the checks
    squares           real    not null,      -- sum of its squares
    disagreed_weight  real    not null,      -- sum of 1/probability over the disagreements
    primary key (channel, version, bucket, judge, sensitivity, specificity, passes)
) strict, without rowid;

-- What operators found of judges, over items that both looked at.
create table judges (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    judge          text    not null,         -- grader and version of the judge
    passes         integer not null,         -- 1 if the checked verdicts were passes, 0 if not
    right          integer not null,         -- right answers
    right_passed   integer not null,         -- of those, passed by the judge
    wrong          integer not null,         -- wrong answers
    wrong_refused  integer not null,         -- of those, not passed by the judge
    primary key (channel, version, judge, passes)
) strict, without rowid;

-- Rates found on labelled data, the latest of each channel and version.
create table calibrations (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    method         text    not null,         -- how the truth was known: `labels` or `dawid_skene`
    right          real    not null,         -- right answers
    right_refused  real    not null,         -- of those, not passed
    wrong          real    not null,         -- wrong answers
    wrong_passed   real    not null,         -- of those, passed
    time_us        integer not null,         -- when, microseconds since the Unix epoch
    primary key (channel, version)
) strict, without rowid;

-- What operators said of single grades.
create table adjudications (
    id            blob    not null primary key,  -- its ULID, 16 bytes big-endian
    grade         blob    not null,          -- id of the grade, 16 bytes big-endian
    channel       text    not null,          -- its channel
    version       integer not null,          -- version of its grader
    graded_pass   integer not null,          -- 1 if the grader passed it
    pass          integer not null,          -- 1 if it is right
    weight        real,                      -- what it counts beside others, drawn at random; null when the operator chose it
    corrects      integer,                   -- the counted word it takes back: 1 if right; null when it takes none back
    corrects_us   integer,                   -- when that word was given, microseconds since the Unix epoch
    judge         text,                      -- judge that had looked at it
    judged_pass   integer,                   -- what that judge had said
    caller        text    not null,          -- who adjudicated
    note          text,                      -- why
    time_us       integer not null           -- when, microseconds since the Unix epoch
) strict, without rowid;

create index adjudications_by_grade on adjudications (grade);

-- Grades drawn at random for operators.
create table draws (
    grade        blob    not null primary key,  -- id of the grade, 16 bytes big-endian
    channel      text    not null,           -- its channel
    probability  real    not null,           -- with which it was drawn
    weight       real    not null,           -- what it counts beside other draws
    time_us      integer not null            -- when, microseconds since the Unix epoch
) strict, without rowid;
