-- What the record holds of each caller: sums over `holdings`, which may have many rows for one
-- caller. Compared with the quota of its key about once a second. Replaces `keys.bytes_stored`,
-- which counted requests and is no longer written.
create table caller_holdings (
    caller  text    not null primary key,  -- `holdings.caller`
    bytes   integer not null               -- bytes of grades and packs
) strict, without rowid;

insert into caller_holdings (caller, bytes)
select caller, sum(grade_bytes + pack_bytes) from holdings group by caller;

create trigger holdings_are_summed after insert on holdings
begin
    insert into caller_holdings (caller, bytes)
    values (new.caller, new.grade_bytes + new.pack_bytes)
    on conflict (caller) do update set bytes = bytes + excluded.bytes;
end;

create trigger changed_holdings_are_summed after update of grade_bytes, pack_bytes on holdings
begin
    update caller_holdings set
        bytes = bytes + new.grade_bytes + new.pack_bytes - old.grade_bytes - old.pack_bytes
    where caller = new.caller;
end;

create trigger deleted_holdings_are_summed after delete on holdings
begin
    update caller_holdings set bytes = bytes - old.grade_bytes - old.pack_bytes
    where caller = old.caller;
end;
