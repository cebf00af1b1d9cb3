-- Grades by the ids of items. A table and not an index, because deleting an entry of an index with
-- each grade would write a page for nearly every grade.
create table items (
    item  text    not null,                -- `grades.item`
    key   integer not null,                -- `grades.key`; the grade may be deleted
    primary key (item, key)
) strict, without rowid;

insert into items (item, key)
select item, key from grades where item is not null order by item, key;

create trigger items_are_listed after insert on grades when new.item is not null
begin
    insert or ignore into items (item, key) values (new.item, new.key);
end;

drop index grades_by_item;

-- The batch of each pack, without its content.
create index packs_owners on packs (no, batch);

-- A sweep removes what deleted batches leave behind, in passes: their rows of `items`, then those
-- of `body_uses`, then those of `bodies`, except bodies that other batches use, which are moved,
-- and then their packs. A sweep of the earlier form looked only at `bodies`, and is finished here.
delete from bodies where exists (select 1 from body_sweep)
and not exists (select 1 from packs where no = bodies.pack);
delete from body_sweep;
-- 0: items, 1: uses, 2: bodies, 3: packs. The item or the hash of the last row that was looked at
-- is in `after`.
alter table body_sweep add column pass integer not null default 0;
-- The key of the last item, or the batch of the last use or pack.
alter table body_sweep add column after_number integer not null default 0;
-- In the last two passes, the number of an empty pack: only packs below it are deleted.
alter table body_sweep add column up_to integer not null default 0;
