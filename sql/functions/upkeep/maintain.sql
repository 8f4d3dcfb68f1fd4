-- Keep the truth: close what is dead, forget what is old. One call, from anywhere, as often as you like.
--
-- Called by   pg_cron, every minute; every runner, at its beat; an operator
-- Returns     one row of what it did; ran is false when another call is at it
-- Locks       a transaction-level advisory lock that it never waits for, then job rows by id, skipping

create or replace function cortex.maintain()
returns table (
    ran boolean,
    stale integer,
    overdue integer,
    orphaned integer,
    purged integer,
    cron_runs_purged integer,
    runners_purged integer
)
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    ran := pg_try_advisory_xact_lock(cortex.lock_space(), 0);
    stale := 0;
    overdue := 0;
    orphaned := 0;
    purged := 0;
    cron_runs_purged := 0;
    runners_purged := 0;
    if not ran then
        return next;
        return;
    end if;

    -- One part that fails must not keep the others from their work.
    begin
        orphaned := cortex.reap_orphans();
    exception when others then
        raise warning 'upkeep could not close the jobs of dead runners: %', sqlerrm;
    end;
    begin
        stale := cortex.reap_stale();
    exception when others then
        raise warning 'upkeep could not close stale jobs: %', sqlerrm;
    end;
    begin
        overdue := cortex.reap_overdue();
    exception when others then
        raise warning 'upkeep could not close overdue jobs: %', sqlerrm;
    end;
    begin
        perform cortex.end_backends();
    exception when others then
        raise warning 'upkeep could not end the sessions of ended jobs: %', sqlerrm;
    end;
    begin
        purged := cortex.purge_expired(batch_size => 10000);
    exception when others then
        raise warning 'upkeep could not purge old jobs: %', sqlerrm;
    end;
    begin
        runners_purged := cortex.purge_runners(batch_size => 500);
    exception when others then
        raise warning 'upkeep could not purge old runners: %', sqlerrm;
    end;
    begin
        cron_runs_purged := cortex.purge_cron_runs();
    exception when others then
        raise warning 'upkeep could not purge pg_cron''s record of its own runs: %', sqlerrm;
    end;
    begin
        -- Dynamic: schema corpus need not be there, nor be ours. Once a minute is often enough, however many
        -- runners beat.
        if exists (
                select
                from pg_catalog.pg_proc as p
                join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
                where n.nspname = 'corpus'
                    and p.proname = 'clear_runs'
                    and has_schema_privilege(n.oid, 'usage')
                    and has_function_privilege(p.oid, 'execute')
            )
            and not exists (
                select
                from cortex.upkeep as u
                where date_trunc('minute', u.last_run_at) = date_trunc('minute', clock_timestamp())
            )
        then
            execute 'select corpus.clear_runs(batch_size => 10000)';
        end if;
    exception when others then
        raise warning 'upkeep could not clear away what counts of reports left: %', sqlerrm;
    end;

    update cortex.upkeep as u
    set last_run_at = clock_timestamp(),
        last_role = session_user,
        stale = maintain.stale,
        overdue = maintain.overdue,
        orphaned = maintain.orphaned,
        purged = maintain.purged;

    return next;
end;
$$;

comment on function cortex.maintain() is
'Closes stale, overdue and orphaned jobs, purges old ones, and notes that it ran.';
