-- Pairs for training reward models: a completion that a rule accepted and a worse one for the same
-- prompt.
create table pairs (
    -- Order of arrival. Numbers are never reused, so that a reader can continue after one.
    no       integer primary key autoincrement,
    model    text    not null,             -- name of the reward model
    pair     blob    not null,             -- `bodies.hash` of the pair
    source   text,                         -- origin, a JSON object
    caller   text    not null,             -- name of the key that sent it
    time_us  integer not null,             -- when, Unix time in microseconds
    unique (model, pair)
) strict;

-- Used to list the pairs of one model. SQLite adds the primary key to every index.
create index pairs_by_model on pairs (model);
