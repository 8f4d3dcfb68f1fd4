-- Let a runner go: give back its lease and end what it leaves behind.
--
-- Called by   a runner that shuts down, after its grace
-- Returns     how many jobs it left, now interrupted; 0 when it had retired before
-- Raises      22004 null, JC102 no such runner
-- Locks       the runner's row, then its active jobs by id

create or replace function cortex.retire_runner(runner uuid, message text default '')
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_runner cortex.runner;
begin
    select r.* into v_runner
    from cortex.runner as r
    where r.uuid = retire_runner.runner
    for no key update;

    if not found then
        perform cortex.require_runner(runner => retire_runner.runner);
    end if;

    update cortex.runner as r
    set retired_at = coalesce(r.retired_at, clock_timestamp())
    where r.uuid = retire_runner.runner;

    if v_runner.retired_at is null and v_runner.backend_pid = pg_backend_pid() then
        perform pg_advisory_unlock(cortex.lock_space(), v_runner.lease);
    end if;

    return cortex.interrupt_active(
        runner => retire_runner.runner,
        message => coalesce(
            nullif(retire_runner.message, ''), 'interrupted by the shutdown of its runner'
        )
    );
end;
$$;

comment on function cortex.retire_runner(uuid, text) is
'Ends a runner''s registration; its unfinished jobs become interrupted.';
