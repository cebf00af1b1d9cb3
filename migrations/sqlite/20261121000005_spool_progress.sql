-- How far each spool has been applied: everything before this position is in the tables above, nothing after it. Written in the
-- transaction that applies, which is what makes replay exact.
create table spool_progress (
    spool    text    not null primary key, -- identity of the spool folder
    segment  integer not null,             -- number of the segment
    byte     integer not null              -- first byte not applied yet
) strict, without rowid;
