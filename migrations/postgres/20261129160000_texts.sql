-- The index of texts, if they are searched: the words of the completion and the prompt of each
-- grade. SQLite has it in a file of its own.
create table texts (
    key    bigint primary key,  -- `grades.key`; the grade may be deleted
    words  tsvector not null  -- without places
);

create index texts_by_word on texts using gin (words);

-- The batches that are in the index.
create table indexed (
    batch   bigint primary key,  -- `batches.no`; the batch may be deleted
    id      bytea not null,  -- `batches.id`
    grades  bigint  -- its grades in the index; null while some are missing
);
