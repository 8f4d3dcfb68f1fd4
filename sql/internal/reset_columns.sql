-- Put columns of settings back to their defaults; for a kind that is null, "as the settings say".
--
-- Called by   configure, configure_kind
-- Raises      22023 a name that is no setting

create or replace function cortex.reset_columns(relation regclass, key text, names text[])
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_name pg_catalog.text;
begin
    foreach v_name in array coalesce(reset_columns.names, '{}') loop
        if v_name in ('name', 'only_row') or not exists (
            select
            from pg_catalog.pg_attribute as a
            where a.attrelid = reset_columns.relation
                and a.attname = v_name
                and a.attnum > 0
                and not a.attisdropped
        )
        then
            raise exception 'there is no setting %', coalesce(v_name, 'null')
                using errcode = '22023', hint = 'reset takes names of settings, such as {keep}.';
        end if;

        -- Dynamic: "default" can't be given by a parameter. The name is a column's, the key a value.
        if reset_columns.key is null then
            execute format('update %s set %I = default', reset_columns.relation, v_name);
        else
            execute format('update %s set %I = default where name = $1', reset_columns.relation, v_name)
            using reset_columns.key;
        end if;
    end loop;
end;
$$;

comment on function cortex.reset_columns(regclass, text, text[]) is
'Puts named settings back to their defaults.';
