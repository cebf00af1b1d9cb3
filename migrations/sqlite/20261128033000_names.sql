-- Channels that grades use. The node limits how many a caller introduces, and retention deletes
-- those that are no longer used.
create table channel_uses (
    channel  text    not null primary key, -- grader and task family
    caller   text    not null,             -- caller that used it first; empty if not known
    last_us  integer not null              -- time of its last grade, Unix time in microseconds
) strict, without rowid;

-- Of channels recorded before this migration, the time of the last grade is known to ten minutes.
insert into channel_uses (channel, caller, last_us)
select k.channel, '',
    coalesce((select max(c.bucket) + 1 from channels c where c.channel = k.channel), 0) * 600000000
from (select channel from kinds union select channel from channels) k;

-- The caller that recorded the run first; empty if not known.
alter table runs add column caller text not null default '';
update runs set caller = coalesce((
    select h.caller from holdings h where h.run = runs.no order by h.grades desc limit 1), '');

-- Prompts of the run in `prompt_history` that were added after this migration.
alter table runs add column prompts integer not null default 0;

create trigger prompts_are_counted after insert on prompt_history
when not exists (
    select 1 from prompt_history
    where run = new.run and prompt_key = new.prompt_key and step <> new.step)
begin
    update runs set prompts = prompts + 1 where no = new.run;
end;
