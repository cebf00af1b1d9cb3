-- From which number on batches are numbered without gaps. Earlier writers skipped a number when
-- they applied a part of a batch that was already stored, so a missing number below says nothing.
-- One row.
create table batch_numbers (
    first    integer not null              -- number of the first such batch
) strict;

insert into batch_numbers (first)
select max((select coalesce(max(no), 0) from batches),
           (select coalesce(max(last), 0) from deleted_batches)) + 1;
