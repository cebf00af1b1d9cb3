-- Results of dataset checks that were sent to the record. Their reports are bodies of kind 5.
create table dataset_checks (
    id        blob    not null primary key, -- sorts by time in milliseconds
    datasets  text    not null,             -- names of the datasets, a JSON array
    checked   integer not null,             -- rows that were checked
    errors    integer not null,             -- findings that are errors
    warnings  integer not null,             -- findings that are warnings
    report    blob    not null,             -- `bodies.hash` of the report
    caller    text    not null,             -- name of the key that sent it
    time_us   integer not null              -- when, Unix time in microseconds
) strict, without rowid;
