-- Which releases can use the tables. A migration that earlier releases do not work with updates the
-- row. One row.
create table readers (
    oldest_migration  integer not null  -- a node must know this migration, by its version
) strict;

insert into readers (oldest_migration) values (20261129170000);
