-- Counts of items whose verdict is a pass or a fail, by channel, version of the grader and time
-- bucket of ten minutes. Replicas add to the same rows.
create table channels (
    channel               text    not null,  -- grader and task family
    version               integer not null,  -- version of the grader
    bucket                integer not null,  -- Unix time in units of ten minutes
    negatives             integer not null,  -- not passed
    positives             integer not null,  -- passed
    bound_negatives       integer not null,  -- negatives with a binding appeal
    bound_positives       integer not null,  -- positives with a binding appeal
    overturned_negatives  integer not null,  -- negatives that became passes
    overturned_positives  integer not null,  -- positives that became fails
    repeats               integer not null,  -- repetitions of a completion and task in a batch
    flips                 integer not null,  -- of those, with another verdict than the first
    primary key (channel, version, bucket)
) strict, without rowid;

-- Results of checking these items by judges and operators.
create table channel_checks (
    channel           text    not null,      -- as in `channels`
    version           integer not null,      -- as in `channels`
    bucket            integer not null,      -- as in `channels`
    judge             text    not null,      -- `operator`, or grader and version of the judge
    sensitivity       real    not null,      -- share of correct answers it passes, by the policy
    specificity       real    not null,      -- share of wrong answers it fails, by the policy
    passes            integer not null,      -- 1 if the checked verdicts were passes, 0 if not
    checks            integer not null,      -- number of checks
    disagreed         integer not null,      -- of those, with another verdict than the grader's
    weight            real    not null,      -- sum of 1/probability over the checks
    squares           real    not null,      -- sum of its squares
    disagreed_weight  real    not null,      -- sum of 1/probability over the disagreements
    primary key (channel, version, bucket, judge, sensitivity, specificity, passes)
) strict, without rowid;

-- Results of adjudicating items that a judge had checked.
create table judges (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    judge          text    not null,         -- grader and version of the judge
    passes         integer not null,         -- 1 if the checked verdicts were passes, 0 if not
    right          integer not null,         -- correct answers
    right_passed   integer not null,         -- of those, passed by the judge
    wrong          integer not null,         -- wrong answers
    wrong_rejected  integer not null,         -- of those, not passed by the judge
    primary key (channel, version, judge, passes)
) strict, without rowid;

-- Error rates measured on labelled data, the latest of each channel and version.
create table calibrations (
    channel        text    not null,         -- as in `channels`
    version        integer not null,         -- as in `channels`
    method         text    not null,         -- source of the truth: `labels` or `dawid_skene`
    right          real    not null,         -- correct answers
    right_rejected  real    not null,         -- of those, not passed
    wrong          real    not null,         -- wrong answers
    wrong_passed   real    not null,         -- of those, passed
    time_us        integer not null,         -- when, Unix time in microseconds
    primary key (channel, version)
) strict, without rowid;

-- Adjudications: decisions of operators about single grades.
create table adjudications (
    id            blob    not null primary key,  -- ULID, 16 bytes big-endian
    grade         blob    not null,          -- id of the grade, 16 bytes big-endian
    channel       text    not null,          -- its channel
    version       integer not null,          -- version of its grader
    graded_pass   integer not null,          -- 1 if the grader passed it
    pass          integer not null,          -- 1 if the answer is correct
    weight        real,                      -- weight of a random draw; null if chosen
    corrects      integer,                   -- `pass` of the counted one it replaces, or null
    corrects_us   integer,                   -- `time_us` of the first counted one, or null
    judge         text,                      -- judge that had checked the item
    judged_pass   integer,                   -- 1 if that judge passed it
    caller        text    not null,          -- name of the operator's key
    note          text,                      -- reason
    time_us       integer not null           -- when, Unix time in microseconds
) strict, without rowid;

create index adjudications_by_grade on adjudications (grade);

-- Grades drawn at random for operators.
create table draws (
    grade        blob    not null primary key,  -- id of the grade, 16 bytes big-endian
    channel      text    not null,           -- its channel
    probability  real    not null,           -- probability of the draw
    weight       real    not null,           -- weight of the adjudication
    time_us      integer not null            -- when, Unix time in microseconds
) strict, without rowid;
