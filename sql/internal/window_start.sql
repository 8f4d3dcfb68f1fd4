-- Where a rolling window of so many hours begins, by the database's clock.
--
-- Returns     infinity for 0, so that nothing is in it, not even what a clock ahead wrote; -infinity for
--             more than 100 years, infinity included; 24 hours ago for null
-- Raises      22023 negative or not a number

create or replace function cortex.window_start(hours numeric)
returns timestamptz
language plpgsql
volatile
parallel safe
set search_path = ''
as $$
begin
    if window_start.hours < 0 or window_start.hours = 'NaN' then
        raise exception 'a window of % hours makes no sense', window_start.hours
            using errcode = '22023', hint = 'Give a number of hours from 0 up.';
    end if;
    if window_start.hours = 0 then
        return 'infinity'::pg_catalog.timestamptz;
    end if;
    if window_start.hours > 876600 then
        return '-infinity'::pg_catalog.timestamptz;
    end if;
    return clock_timestamp() - coalesce(window_start.hours, 24)::double precision * interval '1 hour';
end;
$$;

comment on function cortex.window_start(numeric) is
'The instant at which a rolling window of so many hours begins.';
