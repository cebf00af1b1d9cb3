-- Comments of operators on grades, with which they are deleted.
create table comments (
    grade    blob    not null,  -- id of the grade, 16 bytes big-endian
    id       blob    not null,  -- sorts by time in milliseconds
    text     text    not null,  -- may be empty
    caller   text    not null,  -- name of the author's key
    time_us  integer not null,  -- when, Unix time in microseconds
    primary key (grade, id)
) strict, without rowid;

-- Labels of comments, by which grades are listed.
create table comment_labels (
    grade      blob    not null,  -- `comments.grade`
    id         blob    not null,  -- `comments.id`
    label      text    not null,  -- the label
    grade_key  integer not null,  -- `grades.key` of the grade
    primary key (grade, id, label)
) strict, without rowid;

create index comment_labels_by_label on comment_labels (label, grade_key);
