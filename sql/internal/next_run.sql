-- When a cron line comes true next, as pg_cron reads it.
--
-- Both the day of the month and the weekday must fit where one of them begins with a star; else one of them
-- is enough. A moment that a change of the clocks leaves out comes an hour later.
--
-- Called by   list_schedules, schedule_maintenance
-- Returns     null for a line that is none, or that never comes true within eight years

create or replace function cortex.next_run(
    line text,
    after timestamptz default null,
    zone text default 'GMT'
)
returns timestamptz
language plpgsql
stable
set search_path = ''
as $$
declare
    v_after constant pg_catalog.timestamptz := coalesce(next_run.after, clock_timestamp());
    v_local constant timestamp := v_after at time zone coalesce(next_run.zone, 'GMT');
    v_line pg_catalog.text := lower(btrim(next_run.line, e' \t\n'));
    v_fields pg_catalog.text[];
    v_minutes integer[];
    v_hours integer[];
    v_days integer[];
    v_months integer[];
    v_weekdays integer[];
    v_day pg_catalog.date;
    v_is_day boolean;
    v_is_weekday boolean;
    v_last boolean;
    v_found pg_catalog.timestamptz;
begin
    if v_line ~ '^[0-9]{1,2} seconds?$' then
        return v_after + make_interval(secs => split_part(v_line, ' ', 1)::integer);
    end if;

    v_line := case v_line
        when '@yearly' then '0 0 1 1 *'
        when '@annually' then '0 0 1 1 *'
        when '@monthly' then '0 0 1 * *'
        when '@weekly' then '0 0 * * 0'
        when '@daily' then '0 0 * * *'
        when '@midnight' then '0 0 * * *'
        when '@hourly' then '0 * * * *'
        else v_line
    end;
    v_fields := regexp_split_to_array(v_line, '[[:space:]]+');
    if cardinality(v_fields) is distinct from 5 then
        return null;
    end if;

    -- From 1.6 on, $ is the last day of the month.
    v_last := '$' = any(string_to_array(v_fields[3], ','));
    v_minutes := cortex.cron_field(field => v_fields[1], lowest => 0, highest => 59, names => null);
    v_hours := cortex.cron_field(field => v_fields[2], lowest => 0, highest => 23, names => null);
    v_days := case
        when v_fields[3] = '$' then '{}'
        else cortex.cron_field(
            field => array_to_string(array_remove(string_to_array(v_fields[3], ','), '$'), ','),
            lowest => 1,
            highest => 31,
            names => null
        )
    end;
    v_months := cortex.cron_field(
        field => v_fields[4],
        lowest => 1,
        highest => 12,
        names => '{jan,feb,mar,apr,may,jun,jul,aug,sep,oct,nov,dec}'
    );
    v_weekdays := cortex.cron_field(
        field => v_fields[5], lowest => 0, highest => 7, names => '{sun,mon,tue,wed,thu,fri,sat}'
    );
    if v_minutes is null or v_hours is null or v_days is null or v_months is null or v_weekdays is null then
        return null;
    end if;
    if 7 = any(v_weekdays) then
        v_weekdays := v_weekdays || 0;
    end if;

    for v_ahead in 0..2930 loop
        v_day := v_local::pg_catalog.date + v_ahead;
        continue when extract(month from v_day)::integer <> all(v_months);

        v_is_day := extract(day from v_day)::integer = any(v_days)
            or (v_last and extract(day from v_day + 1) = 1);
        v_is_weekday := extract(dow from v_day)::integer = any(v_weekdays);
        continue when not case
            when v_fields[3] like '*%' or v_fields[5] like '*%' then v_is_day and v_is_weekday
            else v_is_day or v_is_weekday
        end;

        select min(m.moment) into v_found
        from (
            select (v_day + make_time(h.hour, n.minute, 0)) at time zone coalesce(next_run.zone, 'GMT') as moment
            from unnest(v_hours) as h (hour)
            cross join unnest(v_minutes) as n (minute)
        ) as m
        where m.moment > v_after;
        if v_found is not null then
            return v_found;
        end if;
    end loop;

    return null;
end;
$$;

comment on function cortex.next_run(text, timestamptz, text) is
'When a cron line comes true next.';
