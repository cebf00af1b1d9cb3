-- Documents of grades: each is the whole grade as JSON, as reads return it. Many are compressed
-- together, in the order of their grades.
create table documents (
    no       integer primary key,          -- number of the pack
    batch    integer not null,             -- `batches.no`
    codec    integer not null,             -- as in `packs`
    size     integer not null,             -- bytes when unpacked
    content  blob    not null              -- the documents, concatenated
) strict;

create index documents_by_batch on documents (batch);

create trigger documents_are_not_changed before update on documents
begin
    select raise(abort, 'documents of grades are append-only');
end;

create trigger documents_are_not_deleted before delete on documents
when not exists (select 1 from retention)
begin
    select raise(abort, 'documents of grades are append-only: only a retention run deletes them');
end;

-- Where the document of a grade is. Null for grades recorded before this migration, which have the
-- columns `components`, `steps`, `measures`, `earlier_evidence`, `error`, `meta`, `checks`,
-- `appeal`,
-- `prompt_key`, `score_after`, `advantage` and `reward_breakdown` instead.
alter table grades add column document integer;        -- `documents.no`
alter table grades add column document_start integer;  -- first byte within the unpacked pack
alter table grades add column document_size integer;   -- bytes

-- An earlier release would show grades with a document as grades without contents. Without this
-- column its reads and writes fail instead.
alter table grades rename column evidence to earlier_evidence;
