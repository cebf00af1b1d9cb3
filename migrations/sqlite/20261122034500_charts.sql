-- Sums for charts of named runs, kept as `rollups` are: by the transaction that inserts the grades. They are kept at several widths, so
-- that a chart of a hundred columns reads as many rows of a run of a million steps as of one of a thousand. Steps from before this file
-- have none.

-- Histograms of numbers.
create table step_numbers (
    run      integer not null,             -- `runs.no`
    width    integer not null,             -- steps that are counted together: 1, 16, 256 or 4096
    step     integer not null,             -- the first of them, a multiple of the width; -9223372036854775808 without a step
    number   text    not null,             -- `reward`, `grade_us`, `queue_us`, `passed_bytes` or `other_bytes`
    bin      integer not null,             -- of rewards: the number of tenths, from -20 to 20; else the number of bits
    count    integer not null,             -- grades
    sum      real    not null,             -- sum of their numbers
    squares  real    not null,             -- sum of the squares
    primary key (run, width, step, number, bin)
) strict, without rowid;

-- Words that some grades have.
create table step_words (
    run     integer not null,              -- `runs.no`
    width   integer not null,              -- as above
    step    integer not null,              -- as above
    topic   text    not null,              -- `outcome`, `verdict`, `grader`, `pass`, `cause` (code of an error) or `cache`
    word    text    not null,              -- the word; `pass` and `hit` where the topic is a yes
    grades  integer not null,              -- grades that have it
    primary key (run, width, step, topic, word)
) strict, without rowid;
