-- Count what purge_jobs would delete, called again and again, if nobody held any of it.
--
-- Returns     one row for each kind and status that has such jobs
-- Raises      22023 a negative age

create or replace function cortex.purge_plan(older_than interval default null)
returns table (kind text, status cortex.job_status, jobs bigint)
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_shortest numeric := extract(epoch from purge_plan.older_than);
    v_before pg_catalog.timestamptz;
begin
    if purge_plan.older_than < '0' then
        raise exception 'older_than is %', purge_plan.older_than
            using errcode = '22023', hint = 'Give an age from zero up, or leave it out for the settings.';
    end if;

    if v_shortest is null then
        v_shortest := cortex.shortest_keep();
    end if;
    if v_shortest is null then
        return;
    end if;

    -- As in purge_jobs: ages in seconds, none of them from before the beginning of time.
    v_before := v_now - make_interval(
        secs => least(v_shortest, extract(epoch from interval '1000 years'))
    );

    return query
    select
        o.kind,
        o.status,
        count(*)
    from cortex.job as o
    left join cortex.kind as k on k.name = o.kind
    cross join cortex.settings as s
    where o.finished_at < v_before
        and extract(epoch from v_now - o.finished_at)
        > extract(epoch from coalesce(purge_plan.older_than, k.keep, s.keep))
    group by o.kind, o.status
    order by o.kind, o.status;
end;
$$;

comment on function cortex.purge_plan(interval) is
'What purge_jobs would delete, counted by kind and status; deletes nothing.';
