-- Grades of a kind within a batch: an index entry is the kind and the key, so entries of one batch
-- are adjacent.
create index grades_by_kind on grades (kind);

-- Lists by time, or by step without a run, go through all batches in the order of their ids. This
-- index has all columns they need, so they do not read the rows.
create index batches_walked on batches (id, first_us, last_us, step);

-- Two more facets, so that lists by group and by score visit only the batches that contain some:
-- `group=NAME`, only with run 0, and `score=CLASS`, where the class is `0`, `1`, a tenth between
-- them (`.0` to `.9`), or `between` for all tenths. The statements below add them for existing
-- grades, which takes a few seconds per million grades.
insert or ignore into facets (facet, run, batch)
select distinct 'group=' || g.in_group, 0, b.id
from grades g join batches b on b.no = g.key >> 24
where g.in_group is not null;

create temporary table scored as
select distinct g.key >> 24 as batch,
    case
        when g.score <= 0 then '0'
        when g.score >= 1 then '1'
        else '.' || min(cast(g.score * 10 as integer), 9)
    end as class
from grades g
where g.score is not null;

insert or ignore into facets (facet, run, batch)
select 'score=' || s.class, r.run, b.id
from scored s join batches b on b.no = s.batch
join (select no as batch, 0 as run from batches union select no, run from batches) r
    on r.batch = s.batch;

insert or ignore into facets (facet, run, batch)
select 'score=between', r.run, b.id
from scored s join batches b on b.no = s.batch
join (select no as batch, 0 as run from batches union select no, run from batches) r
    on r.batch = s.batch
where s.class not in ('0', '1');

drop table scored;
