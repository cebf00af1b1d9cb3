-- Bytes of packs that are never deleted, with policies, pairs and reports, by the caller that sent
-- them. The caller is empty for packs recorded before this migration.
create table permanent_holdings (
    caller  text    not null primary key,  -- caller of the entry
    bytes   integer not null               -- bytes of its packs
) strict, without rowid;

insert into permanent_holdings (caller, bytes)
select '', sum(length(content)) from packs where batch = 0 having count(*) > 0;
