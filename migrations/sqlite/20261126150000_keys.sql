-- The secret under which keys are hashed, and the version of the keys. Nodes insert the row.
create table access (
    no       integer primary key check (no = 1), -- always 1
    secret   blob    not null,             -- random, 32 bytes
    version  integer not null              -- changes with every change of a key but its use
) strict;

-- Keys of callers, which are never deleted: grades, adjudications and the audit log name them. The
-- keys themselves are not stored.
create table keys (
    id                      text    not null primary key, -- public part of the key
    name                    text    not null unique, -- name of the caller
    role                    text    not null,   -- `trainer`, `checker`, `operator` or `admin`
    hash                    blob    not null,   -- BLAKE3 of the key under `access.secret`, 32 bytes
    previous_hash           blob,               -- hash of the key before the last rotation
    previous_until_us       integer,            -- until when that key is valid
    items_per_minute        integer,            -- quotas, null for no limit
    cpu_seconds_per_minute  integer,
    items_in_flight         integer,
    bytes_stored_limit      integer,
    created_us              integer not null,   -- when, Unix time in microseconds
    rotated_us              integer,            -- when it was last rotated
    expires_us              integer,            -- when it expires; null for never
    revoked_us              integer,            -- when it was revoked; null if it was not
    last_used_us            integer,            -- when it was last used, within a minute
    bytes_stored            integer not null default 0 -- bytes of bodies recorded for it
) strict, without rowid;

create trigger keys_created after insert on keys
begin
    update access set version = version + 1;
end;

create trigger keys_changed after update of
    id, name, role, hash, previous_hash, previous_until_us, items_per_minute,
    cpu_seconds_per_minute, items_in_flight, bytes_stored_limit, expires_us, revoked_us on keys
begin
    update access set version = version + 1;
end;

create trigger keys_are_not_deleted before delete on keys
begin
    select raise(abort, 'keys are not deleted: revoke them instead');
end;

-- The audit log: administrative acts, append-only.
create table audit (
    no       integer primary key autoincrement, -- number of the entry, in order
    time_us  integer not null,             -- when, Unix time in microseconds
    caller   text    not null,             -- name of the key
    role     text,                         -- its role; null without one
    action   text    not null,             -- what was done, such as `key.create`
    target   text    not null,             -- to what, such as the name of a key
    details  text    not null              -- a JSON object
) strict;

create trigger audit_is_not_changed before update on audit
begin
    select raise(abort, 'the audit log is append-only');
end;

create trigger audit_is_not_deleted before delete on audit
begin
    select raise(abort, 'the audit log is append-only');
end;
