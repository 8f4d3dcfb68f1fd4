-- Turn names that people write into tables that are there, qualified and quoted by the database.
--
-- A name is read as SQL reads it: schema.table, folded to lower case unless quoted. The caller's
-- search_path has no say, so that a name means the same from everywhere: a bare one is looked for
-- in public and in corpus, and refused when both have it. Never cut to 63 bytes: a name that is too
-- long names nothing.
--
-- Called by   spawn_reindex, spawn_analyze
-- Returns     in the order given, each once; for null the maintenance tables
-- Raises      22004 a name is null, 22023 no names or an ambiguous one, 42P01 no such table, 42809 not
--             a table, materialized view or partitioned table, or a system catalog where not allowed,
--             0A000 null without schema corpus

create or replace function cortex.resolve_tables(tables text[], catalogs boolean)
returns text[]
language plpgsql
stable
set search_path = ''
as $$
declare
    v_tables pg_catalog.text[] := array[]::pg_catalog.text[];
    v_name pg_catalog.text;
    v_parts pg_catalog.text[];
    v_found pg_catalog.record;
    v_table pg_catalog.text;
begin
    if resolve_tables.tables is null then
        perform cortex.require_reports();
    elsif cardinality(resolve_tables.tables) = 0 then
        raise exception 'tables is empty'
            using errcode = '22023', hint = 'Name at least one, or leave it out for the usual ones.';
    end if;

    foreach v_name in array coalesce(resolve_tables.tables, cortex.maintenance_tables()) loop
        if v_name is null then
            raise exception 'tables holds a null'
                using errcode = '22004', hint = 'Each element names a table, as schema.table.';
        end if;

        begin
            v_parts := parse_ident(v_name);
        exception
            when invalid_parameter_value then
                v_parts := array[]::pg_catalog.text[];
        end;

        select
            count(*) as matches,
            min(n.nspname::pg_catalog.text) as schema_name,
            min(c.relname::pg_catalog.text) as table_name,
            min(c.relkind::pg_catalog.text) as relkind,
            min(c.relpersistence::pg_catalog.text) as relpersistence
        into v_found
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where (
                cardinality(v_parts) = 2
                and n.nspname = v_parts[1]
                and c.relname = v_parts[2]
            )
            or (
                cardinality(v_parts) = 1
                and n.nspname in ('public', 'corpus')
                and c.relname = v_parts[1]
            );

        if v_found.matches = 0 then
            raise exception 'no such table: %', left(v_name, 200)
                using errcode = '42P01',
                hint = 'Say schema.table; a bare name is looked for in public and corpus.';
        end if;
        if v_found.matches > 1 then
            raise exception 'ambiguous table: %', v_name
                using errcode = '22023', hint = 'Both public and corpus have it; say schema.table.';
        end if;

        v_table := format('%I.%I', v_found.schema_name, v_found.table_name);
        if v_found.relkind not in ('r', 'm', 'p') or v_found.relpersistence = 't' then
            raise exception '% is not a table', v_table
                using errcode = '42809',
                hint = 'Tables, partitioned tables and materialized views can be maintained; '
                    'not indexes, views, foreign or temporary tables.';
        end if;
        if v_found.schema_name = 'pg_catalog' and not resolve_tables.catalogs then
            raise exception '% is a system catalog', v_table
                using errcode = '42809', hint = 'PostgreSQL can''t rebuild these online.';
        end if;

        if v_table <> all(v_tables) then
            v_tables := v_tables || v_table;
        end if;
    end loop;

    return v_tables;
end;
$$;

comment on function cortex.resolve_tables(text[], boolean) is
'The named tables, or by default the maintenance tables, qualified and quoted; raises for a name '
'that is not a table.';
