-- How many jobs of each kind are in each state: active ones always, ended ones by when they ended.
--
-- Returns     for every kind that has such a job all six states, with 0 where there is none
-- Raises      22023 negative or NaN hours

create or replace function cortex.status_counts(hours numeric default 24)
returns table (kind text, status cortex.job_status, jobs bigint)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_start constant pg_catalog.timestamptz := cortex.window_start(hours => status_counts.hours);
begin
    return query
    with counted as (
        select
            j.kind,
            j.status,
            count(*) as jobs
        from cortex.job as j
        where j.status in ('queued', 'running')
        group by j.kind, j.status
        union all
        select
            j.kind,
            j.status,
            count(*)
        from cortex.job as j
        where j.finished_at > v_start
        group by j.kind, j.status
    )
    select
        k.kind,
        s.status,
        coalesce(counted.jobs, 0)
    from (select distinct c.kind from counted as c) as k
    cross join unnest(enum_range(null::cortex.job_status)) as s (status)
    left join counted on counted.kind = k.kind and counted.status = s.status
    order by k.kind, s.status;
end;
$$;

comment on function cortex.status_counts(numeric) is
'Jobs by kind and state; terminal ones that ended in the last so many hours.';
