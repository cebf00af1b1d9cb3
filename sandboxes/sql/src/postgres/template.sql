-- Revokes privileges in the template of the databases of tasks, in addition to those that
-- PostgreSQL reserves for superusers.

revoke all on schema public from public;
grant usage, create on schema public to assay_author;

do $$
declare
    -- Volatile functions that queries may call.
    harmless constant text[] :=
        '{random, random_normal, clock_timestamp, timeofday, gen_random_uuid, uuidv4, uuidv7}';
    -- Other functions that run queries from a text, show other sessions, access files, or assign a
    -- transaction id.
    reaching constant text := '^(table|schema|database|query|cursor)_to_xml'
        '|^pg_stat_get_|^pg_current_xact_id|^txid_current'
        '|^pg_(show_all_settings|listening_channels|tablespace_databases|stat_file|ls_|read_)'
        '|^inet_(client|server)_|^lo_';
    called record;
begin
    for called in
        select proc.oid::regprocedure::text as name from pg_proc proc
        where pronamespace = 'pg_catalog'::regnamespace and prokind = 'f'
            and (provolatile = 'v' and proname <> all (harmless) or proname ~ reaching)
            -- The server itself calls triggers, and the handlers of access methods and languages.
            and prorettype <> all (
                '{trigger, event_trigger, tsm_handler, index_am_handler, table_am_handler,
                  language_handler}'::regtype[]::oid[])
            and 'internal'::regtype::oid <> all (proargtypes::oid[])
    loop
        execute 'revoke all on function ' || called.name || ' from public';
    end loop;
end $$;

-- Functions that scripts of tasks and dumps call.
grant execute on function
    nextval(regclass), currval(regclass), lastval(),
    setval(regclass, bigint), setval(regclass, bigint, boolean),
    setseed(double precision), set_config(text, text, boolean)
    to assay_author;
