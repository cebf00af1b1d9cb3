-- Checks of datasets that were sent to the record. Bodies of the kind 5 are their reports.
create table dataset_checks (
    id        blob    not null primary key, -- sorts by time, to the millisecond
    datasets  text    not null,             -- their names, a JSON array
    checked   integer not null,             -- rows that were looked at
    errors    integer not null,             -- findings that are errors
    warnings  integer not null,             -- findings that are warnings
    report    blob    not null,             -- `bodies.hash` of the report
    caller    text    not null,             -- who sent it
    time_us   integer not null              -- when, microseconds since the Unix epoch
) strict, without rowid;
