-- Sums for charts of named runs. Like `rollups`, they are updated in the transaction that inserts
-- the grades. They are stored at several widths, so that a chart of a hundred columns reads as many
-- rows for a run of a million steps as for one of a thousand. Steps recorded before this migration
-- have none.

-- Histograms of `reward`, `grade_us`, `queue_us`, `passed_bytes` and `other_bytes`. Bins of rewards
-- are tenths, from -20 to 20; a bin of another quantity is the number of bits of the value.
create table step_numbers (
    run      integer not null,             -- `runs.no`
    width    integer not null,             -- number of steps counted together: 1, 16, 256 or 4096
    step     integer not null,             -- first of them, or -9223372036854775808 without a step
    number   text    not null,             -- name of the quantity
    bin      integer not null,             -- number of the bin
    count    integer not null,             -- grades
    sum      real    not null,             -- sum of their values
    squares  real    not null,             -- sum of the squares
    primary key (run, width, step, number, bin)
) strict, without rowid;

-- Counts of grades by the value of a property: `outcome`, `verdict`, `grader`, `pass`, `cause` (the
-- code of the error) or `cache`.
create table step_words (
    run     integer not null,              -- `runs.no`
    width   integer not null,              -- as above
    step    integer not null,              -- as above
    topic   text    not null,              -- name of the property
    word    text    not null,              -- value; `pass` and `hit` for `pass` and `cache`
    grades  integer not null,              -- grades with this value
    primary key (run, width, step, topic, word)
) strict, without rowid;
