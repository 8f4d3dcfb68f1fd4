-- End sessions that did not heed the cancelling of their statement within the grace.
--
-- Called by   maintain
-- Returns     how many sessions it ended
-- Locks       the rows of their jobs; skips what others have locked

create or replace function cortex.end_backends()
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_grace interval;
    v_job cortex.job;
    v_ended integer := 0;
begin
    select s.cancel_grace into v_grace from cortex.settings as s;

    for v_job in
        select j.*
        from cortex.job as j
        where (
                j.status in ('queued', 'running')
                and j.status = 'running'
                and j.cancel_hard
                and v_now - j.cancel_requested_at > v_grace
            )
            or (
                -- Sessions of what upkeep has ended; older ones it has seen to before.
                j.finished_at > v_now - least(v_grace, '1 day') - interval '15 minutes'
                and v_now - j.finished_at > v_grace
                and j.status = 'interrupted'
                and j.backend_pid is not null
            )
        order by j.id
        for update skip locked
    loop
        if cortex.signal_backend(
            pid => v_job.backend_pid, backend_start => v_job.backend_start, terminate => true
        )
        then
            v_ended := v_ended + 1;
        end if;

        update cortex.job as j
        set backend_pid = null,
            backend_start = null
        where j.id = v_job.id;

        -- A runner that lives writes the end itself.
        if v_job.status = 'running'
            and not exists (
                select from cortex.runners as r where r.uuid = v_job.runner and r.alive
            )
        then
            perform cortex.finish_job(
                job => v_job.uuid,
                status => 'cancelled',
                message => 'cancelled; its session was ended',
                attempt => v_job.attempt
            );
        end if;
    end loop;

    return v_ended;
end;
$$;

comment on function cortex.end_backends() is
'Ends sessions whose jobs were cancelled hard or interrupted and that run on after the grace.';
