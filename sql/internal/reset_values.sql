-- What named settings are at first; for a kind that is null, "as the settings say".
--
-- Called by   configure, configure_kind
-- Returns     an object of their values, to be laid over a row
-- Raises      22023 a name that is no setting

create or replace function cortex.reset_values(relation regclass, names text[])
returns jsonb
language plpgsql
stable
set search_path = ''
as $$
declare
    v_stranger pg_catalog.record;
    v_defaults pg_catalog.text;
    v_values pg_catalog.jsonb;
begin
    select n.name into v_stranger
    from unnest(reset_values.names) as n (name)
    where n.name in ('name', 'only_row')
        or not exists (
            select
            from pg_catalog.pg_attribute as a
            where a.attrelid = reset_values.relation
                and a.attname = n.name
                and a.attnum > 0
                and not a.attisdropped
        )
    limit 1;

    if found then
        raise exception 'there is no setting %', coalesce(v_stranger.name, 'null')
            using errcode = '22023', hint = 'reset takes names of settings, such as {keep}.';
    end if;

    select string_agg(
        format('%L, %s', a.attname, coalesce(pg_get_expr(d.adbin, d.adrelid), 'null')), ', '
    )
    into v_defaults
    from pg_catalog.pg_attribute as a
    left join pg_catalog.pg_attrdef as d on d.adrelid = a.attrelid and d.adnum = a.attnum
    where a.attrelid = reset_values.relation
        and a.attname = any(reset_values.names);

    -- Dynamic: a default stands in the catalogue as an expression. It is the migration's own.
    execute format('select jsonb_build_object(%s)', v_defaults) into v_values;
    return v_values;
end;
$$;

comment on function cortex.reset_values(regclass, text[]) is
'The values that named settings have at first.';
