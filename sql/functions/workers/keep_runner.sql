-- Say that a runner lives, and learn which of its jobs should stop.
--
-- Called by   the runner, every beat, in the session that holds its lease or in a new one
-- Returns     cancel for a running job whose end somebody asked for, stop for a job that was ended
--             since the last beat without the runner's doing; the attempt that is meant; and whether
--             its end may be forced: it was cancelled hard, or has ended already
-- Raises      22004 null, JC102 no such runner or retired
-- Locks       the runner's row

create or replace function cortex.keep_runner(runner uuid)
returns table (job uuid, verdict cortex.verdict, attempt integer, hard boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_runner cortex.runner;
begin
    perform cortex.require_runner(runner => keep_runner.runner);

    select r.* into v_runner
    from cortex.runner as r
    where r.uuid = keep_runner.runner
    for no key update;

    -- A new session takes the lease over once the old one is gone. Where the old one still holds it,
    -- sessions are not the runner's own (a pooler): from then on only the beats count.
    if v_runner.backend_pid <> pg_backend_pid() then
        if pg_try_advisory_lock(cortex.lock_space(), v_runner.lease) then
            v_runner.backend_pid := pg_backend_pid();
            perform cortex.hold_session();
        else
            v_runner.backend_pid := null;
        end if;
    end if;

    update cortex.runner as r
    set seen_at = clock_timestamp(),
        backend_pid = v_runner.backend_pid
    where r.uuid = keep_runner.runner;

    return query
    select
        j.uuid,
        'cancel'::cortex.verdict,
        j.attempt,
        j.cancel_hard_at is not null
    from cortex.job as j
    where j.runner = keep_runner.runner
        and j.status = 'running'
        and j.cancel_requested_at is not null
    union
    select
        j.uuid,
        'stop'::cortex.verdict,
        e.attempt,
        true
    from cortex.event as e
    join cortex.job as j on j.id = e.job_id
    where e.runner = keep_runner.runner
        and e.to_status = 'interrupted'
        and e.at > v_runner.seen_at - interval '1 minute'
        -- Unless the attempt has ended itself since: it was only slow.
        and not exists (
            select
            from cortex.event as c
            where c.job_id = e.job_id
                and c.id > e.id
                and c.attempt = e.attempt
                and c.from_status = 'interrupted'
                and c.to_status <> 'queued'
        );
end;
$$;

comment on function cortex.keep_runner(uuid) is
'A runner''s beat; returns its jobs that should stop.';
