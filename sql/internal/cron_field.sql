-- The numbers that one field of a cron line stands for.
--
-- A field is a list of: a star, a number or a name, or a range of them, each with a step or without.
--
-- Called by   next_run
-- Returns     them in order; null for what is not such a field

create or replace function cortex.cron_field(field text, lowest integer, highest integer, names text[])
returns integer[]
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_part pg_catalog.text;
    v_match pg_catalog.text[];
    v_ends integer[];
    v_step integer;
    v_values integer[] := array[]::integer[];
begin
    foreach v_part in array string_to_array(lower(cron_field.field), ',') loop
        v_match := regexp_match(v_part, '^(?:([*])|(0*[0-9]{1,4}|[a-z]{3})(?:-(0*[0-9]{1,4}|[a-z]{3}))?)(?:/(0*[0-9]{1,4}))?$');
        if v_match is null then
            return null;
        end if;

        v_step := coalesce(v_match[4]::integer, 1);
        if v_match[1] is not null then
            v_ends := array[cron_field.lowest, cron_field.highest];
        else
            v_ends := array(
                select case
                    when e.word ~ '^[0-9]' then e.word::integer
                    else array_position(cron_field.names, e.word) - 1 + cron_field.lowest
                end
                from unnest(
                    array[
                        v_match[2],
                        -- A step without a range goes on to the end.
                        coalesce(
                            v_match[3],
                            case
                                when v_match[4] is null then v_match[2]
                                else cron_field.highest::pg_catalog.text
                            end
                        )
                    ]
                ) with ordinality as e (word, place)
                order by e.place
            );
        end if;
        if v_step = 0
            or not coalesce(
                v_ends[1] between cron_field.lowest and v_ends[2] and v_ends[2] <= cron_field.highest, false
            )
        then
            return null;
        end if;
        v_values := v_values || array(select generate_series(v_ends[1], v_ends[2], v_step));
    end loop;

    return array(select distinct u.value from unnest(v_values) as u (value) order by u.value);
end;
$$;

comment on function cortex.cron_field(text, integer, integer, text[]) is
'The numbers that a field of a cron line stands for.';
