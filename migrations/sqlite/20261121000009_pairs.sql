-- Pairs that reward models learn from: a completion that a rule accepted, and a worse one to the same prompt.
create table pairs (
    no       integer primary key autoincrement, -- order of arrival; a number is never given twice, so that a reader can go on from it
    model    text    not null,             -- name of the reward model
    pair     blob    not null,             -- `bodies.hash` of the pair
    source   text,                         -- where it comes from, a JSON object
    caller   text    not null,             -- who sent it
    time_us  integer not null,             -- when, microseconds since the Unix epoch
    unique (model, pair)
) strict;

-- Pages of one model; the number is part of every index.
create index pairs_by_model on pairs (model);
