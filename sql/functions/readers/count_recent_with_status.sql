-- How many jobs created in a rolling window are in one state now.
--
-- Returns     0 for a window of 0 hours; the whole history for more than a century
-- Raises      22004 status is null, 22023 negative or NaN hours

create or replace function cortex.count_recent_with_status(
    status cortex.job_status,
    hours numeric default 24
)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_start constant pg_catalog.timestamptz := cortex.window_start(hours => count_recent_with_status.hours);
begin
    if count_recent_with_status.status is null then
        raise exception 'status is null'
            using errcode = '22004', hint = 'Give one of the labels of cortex.job_status.';
    end if;

    return (
        select count(*)
        from cortex.job as j
        where j.status = count_recent_with_status.status
            and j.created_at > v_start
    );
end;
$$;

comment on function cortex.count_recent_with_status(cortex.job_status, numeric) is
'Jobs created in the last so many hours that are in this state now.';
