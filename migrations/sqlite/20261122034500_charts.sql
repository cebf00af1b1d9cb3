-- Sums for charts of named runs, kept as `rollups` are: by the transaction that inserts the grades. Steps from before this file have none.

-- Histograms of numbers.
create table step_numbers (
    run      integer not null,             -- `runs.no`
    step     integer not null,             -- step of the run, -9223372036854775808 without one
    number   text    not null,             -- `reward`, `grade_us`, `queue_us`, `passed_bytes` or `other_bytes`
    bin      integer not null,             -- of rewards: the number of tenths, from -20 to 20; else the number of bits
    count    integer not null,             -- grades
    sum      real    not null,             -- sum of their numbers
    squares  real    not null,             -- sum of the squares
    primary key (run, step, number, bin)
) strict, without rowid;

-- Words that some grades have.
create table step_words (
    run     integer not null,              -- `runs.no`
    step    integer not null,              -- as above
    topic   text    not null,              -- `cause`: code of the error of an item without a score; `cache`: `hit`
    word    text    not null,              -- the word
    grades  integer not null,              -- grades that have it
    primary key (run, step, topic, word)
) strict, without rowid;
