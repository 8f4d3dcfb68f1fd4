-- End what has run, or waited, for longer than its kind allows.
--
-- Compiling the look would take longer than a look at 100,000 jobs, hence no jit.
--
-- Called by   maintain, list_recent
-- Returns     how many it ended

create or replace function cortex.reap_overdue()
returns integer
language plpgsql
volatile
set search_path = ''
set jit = off
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ids bigint[];
    v_reasons pg_catalog.text[];
    v_as_seen pg_catalog.timestamptz[];
begin
    if not exists (
        select
        from cortex.settings as s
        left join cortex.kind as k on true
        where coalesce(k.run_timeout, s.run_timeout, k.queue_timeout, s.queue_timeout) is not null
    )
    then
        return 0;
    end if;

    -- First who is late, then the few of them that may be so: the second question costs a look at others.
    with late as materialized (
        select
            j.id,
            j.kind,
            j.status,
            j.debounce_scope,
            j.updated_at,
            p.run_timeout,
            p.queue_timeout
        from cortex.job as j
        left join cortex.kind as k on k.name = j.kind
        cross join cortex.settings as s
        cross join lateral (
            select
                coalesce(k.run_timeout, s.run_timeout) as run_timeout,
                coalesce(k.queue_timeout, s.queue_timeout) as queue_timeout
        ) as p
        where (j.status = 'running' and v_now - j.started_at > p.run_timeout)
            or (
                j.status = 'queued'
                and not j.pinned
                and v_now - j.run_at > p.queue_timeout
            )
    )
    select
        array_agg(late.id order by late.id),
        array_agg(
            case late.status
                when 'running' then format(
                    'running for over %s, its run_timeout; interrupted',
                    cortex.in_words(late.run_timeout)
                )
                else format(
                    'nobody started it within %s, its queue_timeout; interrupted',
                    cortex.in_words(late.queue_timeout)
                )
            end
            order by late.id
        ),
        array_agg(late.updated_at order by late.id)
    into v_ids, v_reasons, v_as_seen
    from late
    where late.status = 'running'
        or late.debounce_scope is null
        -- A follow-up waits for the job before it, and only then for somebody to take it.
        or not exists (
            select
            from cortex.job as before
            where before.kind = late.kind
                and before.debounce_scope = late.debounce_scope
                and (
                    before.status = 'running'
                    or (
                        before.finished_at > v_now - least(late.queue_timeout, '1000 years')
                        and before.started_at is not null
                    )
                )
        );

    return cortex.interrupt_jobs(ids => v_ids, reasons => v_reasons, as_seen => v_as_seen);
end;
$$;

comment on function cortex.reap_overdue() is
'Interrupts jobs that have run or waited for longer than their kind allows.';
