-- The batch of each pack, without its content.
create index packs_owners on packs (no, batch);

-- A sweep removes what deleted batches leave behind, in three passes: their rows of `body_uses`,
-- then their rows of `bodies`, except those that other batches use, which are moved, and then their
-- packs. A sweep of the earlier form looked only at `bodies`, and is finished here.
delete from bodies where exists (select 1 from body_sweep)
and not exists (select 1 from packs where no = bodies.pack);
delete from body_sweep;
-- 0: uses, `after` is the hash of the last one; 1: bodies, likewise; 2: packs.
alter table body_sweep add column pass integer not null default 0;
-- Batch of the last use, or of the last pack, that was looked at.
alter table body_sweep add column after_batch integer not null default 0;
-- In the last two passes, the number of an empty pack: only packs below it are deleted.
alter table body_sweep add column up_to integer not null default 0;
