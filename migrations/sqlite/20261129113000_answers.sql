-- Answers of rollouts of runs: those that pass although they differ from the expected answer, and
-- of each visit of a prompt the wrong answer that most of its rollouts give. Answers recorded
-- before this migration are not in it.
create table answers (
    run         integer not null,          -- `runs.no`
    prompt_key  text    not null,          -- key of the prompt
    pass        integer not null,          -- 1 if the answer passes, 0 if it is wrong
    answer      text    not null,          -- start of the answer
    gold        text    not null,          -- start of the expected answer, empty if not known
    grades      integer not null,          -- rollouts with this answer
    rewards     integer not null,          -- of those, with a reward
    reward_sum  real    not null,          -- sum of the rewards
    first_step  integer,                   -- step of the first one
    last_step   integer,                   -- step of the last one
    key         integer not null,          -- `grades.key` of one of them
    primary key (run, prompt_key, pass, answer)
) strict, without rowid;

create index answers_by_text on answers (run, answer, gold) where pass = 1;

-- Signs of reward hacking in grades that pass, by run: texts in programs (`sign`), and by channel
-- test inputs in programs (`literals`).
create table signs (
    run         integer not null,          -- `runs.no`
    kind        text    not null,          -- `sign` or `literals`
    value       text    not null,          -- the text or the channel
    grades      integer not null,          -- grades with the sign
    rewards     integer not null,          -- of those, with a reward
    reward_sum  real    not null,          -- sum of the rewards
    first_step  integer,                   -- step of the first one
    last_step   integer,                   -- step of the last one
    first_key   integer not null,          -- `grades.key` of the first one
    last_key    integer not null,          -- `grades.key` of the last one
    primary key (run, kind, value)
) strict, without rowid;
