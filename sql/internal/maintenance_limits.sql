-- Put limits of time into params, as PostgreSQL's settings take them.
--
-- Called by   spawn_reindex, spawn_analyze
-- Returns     an object with those that are given; 0 is one, and means none
-- Raises      22023 negative, or longer than PostgreSQL's settings can say

create or replace function cortex.maintenance_limits(
    lock_timeout interval,
    statement_timeout interval
)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_limits pg_catalog.jsonb := '{}'::pg_catalog.jsonb;
    v_name pg_catalog.text;
    v_value interval;
    v_milliseconds numeric;
begin
    foreach v_name in array array['lock_timeout', 'statement_timeout'] loop
        v_value := case v_name
            when 'lock_timeout' then maintenance_limits.lock_timeout
            else maintenance_limits.statement_timeout
        end;
        continue when v_value is null;

        v_milliseconds := ceil(extract(epoch from v_value)::numeric * 1000);
        if v_milliseconds not between 0 and 2147483647 then
            raise exception '% is %', v_name, v_value
                using errcode = '22023', hint = 'From 0, which means no limit, to 24 days.';
        end if;
        v_limits := v_limits || jsonb_build_object(
            v_name,
            case
                when v_milliseconds % 1000 = 0 then (v_milliseconds / 1000)::bigint || 's'
                else v_milliseconds::bigint || 'ms'
            end
        );
    end loop;
    return v_limits;
end;
$$;

comment on function cortex.maintenance_limits(interval, interval) is
'The limits of a maintenance job as params.';
