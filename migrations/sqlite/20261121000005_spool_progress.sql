-- How far each spool has been applied: the tables contain every entry before this position and none
-- after it. Written in the transaction that applies the entries, so that a replay after a crash
-- applies each entry exactly once.
create table spool_progress (
    spool    text    not null primary key, -- identity of the spool folder
    segment  integer not null,             -- number of the segment
    byte     integer not null              -- first byte not applied yet
) strict, without rowid;
