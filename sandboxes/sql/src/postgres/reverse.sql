-- Writes the rows of every table again, in reverse order. The old versions stay in place,
-- invisible, so a scan returns the new ones only.

set search_path = pg_catalog;

do $$
declare
    relation regclass;
    names text;
begin
    for relation in
        select oid from pg_class
        where relkind = 'r'
            and pg_has_role(relowner, 'usage')
            and relnamespace::regnamespace::text !~ '^pg_'
            and not relhasrules
    loop
        select string_agg(quote_ident(attname), ', ' order by attnum) into names
        from pg_attribute
        where attrelid = relation and attnum > 0 and not attisdropped and attgenerated = '';
        continue when names is null;
        execute format(
            'create temp table assay_copy as select ctid as assay_place, %s from only %s',
            names, relation);
        execute format('delete from only %s', relation);
        execute format(
            'insert into %s (%s) overriding system value '
            'select %2$s from pg_temp.assay_copy order by assay_place desc',
            relation, names);
        drop table pg_temp.assay_copy;
    end loop;
end $$;
