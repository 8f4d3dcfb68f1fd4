-- What a monitoring system wants to know, as Prometheus reads it (text format 0.0.4).
--
-- Returns     gauges: active jobs by kind and status, jobs that ended in the last hour by kind and status,
--             age of the oldest ready job and of the oldest heartbeat, seconds since the last upkeep,
--             runners alive; a gauge without a value is left out
-- Source      https://prometheus.io/docs/instrumenting/exposition_formats/

create or replace function cortex.metrics()
returns text
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_text pg_catalog.text;
begin
    with counted as materialized (
        select * from cortex.status_counts(hours => 1)
    ),
    sample (place, name, help, labels, value) as (
        select
            1,
            'cortex_jobs_active',
            'Jobs that wait or run.',
            cortex.prometheus_labels(kind => c.kind, status => c.status),
            c.jobs::numeric
        from counted as c
        where c.status in ('queued', 'running')
        union all
        select
            2,
            'cortex_jobs_finished_last_hour',
            'Jobs that ended in the last hour.',
            cortex.prometheus_labels(kind => c.kind, status => c.status),
            c.jobs::numeric
        from counted as c
        where c.status not in ('queued', 'running')
        union all
        select
            3,
            'cortex_oldest_ready_seconds',
            'How long the oldest job that anybody may take has been ready.',
            '',
            extract(epoch from v_now - min(j.run_at))
        from cortex.job as j
        where j.status = 'queued'
            and j.runner is null
            and j.run_at <= v_now
        union all
        select
            4,
            'cortex_oldest_heartbeat_seconds',
            'How long the most silent running job has been silent.',
            '',
            extract(epoch from v_now - min(j.updated_at))
        from cortex.job as j
        where j.status in ('queued', 'running')
            and j.status = 'running'
        union all
        select
            5,
            'cortex_last_maintenance_seconds',
            'How long ago the upkeep last ran.',
            '',
            extract(epoch from v_now - u.last_run_at)
        from cortex.upkeep as u
        union all
        select
            6,
            'cortex_runners_alive',
            'Runners that live.',
            '',
            count(*)::numeric
        from cortex.runners as r
        where r.retired_at is null
            and r.alive
    ),
    block as (
        select
            s.place,
            format(e'# HELP %s %s\n# TYPE %s gauge\n', s.name, s.help, s.name)
            || string_agg(
                -- A clock that went back makes no age below zero.
                format(e'%s%s %s\n', s.name, s.labels, greatest(s.value, 0)), '' order by s.labels
            ) as lines
        from sample as s
        where s.value is not null
        group by s.place, s.name, s.help
    )
    select string_agg(block.lines, '' order by block.place)
    into v_text
    from block;

    return coalesce(v_text, '');
end;
$$;

comment on function cortex.metrics() is
'The state of the job system as Prometheus text.';
