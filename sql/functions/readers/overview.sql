-- What whoever watches wants at the top of the screen: what waits and runs, what ended, who is there.
--
-- Returns     one row; ready: what anybody may take now; the four outcomes: jobs that ended in the last so
--             many hours; runners_alive counts the runners of every kind
-- Raises      22023 negative or NaN hours

create or replace function cortex.overview(kind text default null, hours numeric default 1)
returns table (
    at timestamptz,
    queued bigint,
    ready bigint,
    oldest_ready_at timestamptz,
    running bigint,
    oldest_heartbeat_at timestamptz,
    succeeded bigint,
    failed bigint,
    interrupted bigint,
    cancelled bigint,
    runners_alive bigint,
    last_maintenance_at timestamptz
)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_start constant pg_catalog.timestamptz := cortex.window_start(
        hours => coalesce(overview.hours, 1)
    );
begin
    return query
    with waiting as (
        select
            count(*) as queued,
            count(*) filter (where j.runner is null and j.run_at <= v_now) as ready,
            min(j.run_at) filter (where j.runner is null and j.run_at <= v_now) as oldest_ready_at
        from cortex.job as j
        where j.status = 'queued'
            and (overview.kind is null or j.kind = overview.kind)
    ),
    moving as (
        select
            count(*) as running,
            min(j.updated_at) as oldest_heartbeat_at
        from cortex.job as j
        where j.status = 'running'
            and (overview.kind is null or j.kind = overview.kind)
    ),
    ended as (
        select
            count(*) filter (where j.status = 'succeeded') as succeeded,
            count(*) filter (where j.status = 'failed') as failed,
            count(*) filter (where j.status = 'interrupted') as interrupted,
            count(*) filter (where j.status = 'cancelled') as cancelled
        from cortex.job as j
        where j.finished_at > v_start
            and (overview.kind is null or j.kind = overview.kind)
    )
    select
        v_now,
        w.queued,
        w.ready,
        w.oldest_ready_at,
        m.running,
        m.oldest_heartbeat_at,
        e.succeeded,
        e.failed,
        e.interrupted,
        e.cancelled,
        (select count(*) from cortex.runners as r where r.retired_at is null and r.alive),
        (select u.last_run_at from cortex.upkeep as u)
    from waiting as w
    cross join moving as m
    cross join ended as e;
end;
$$;

comment on function cortex.overview(text, numeric) is
'What waits, runs and ended lately, and who is there: one row, of one kind or of all.';
