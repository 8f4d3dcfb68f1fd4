-- The sweep after a restart: what was active can't be alive any more.
--
-- Called by   an application of one process at its start (no argument: every active job); an operator
--             who knows that a runner is gone (that runner's jobs only)
-- Returns     how many it ended
-- Raises      JC102 no such runner
-- Locks       the rows it ends, by id; skips what somebody has locked, who then lives

create or replace function cortex.interrupt_orphans(runner uuid default null)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if interrupt_orphans.runner is not null
        and not exists (select from cortex.runner as r where r.uuid = interrupt_orphans.runner)
    then
        perform cortex.require_runner(runner => interrupt_orphans.runner);
    end if;

    return cortex.interrupt_active(
        runner => interrupt_orphans.runner,
        message => 'interrupted by a restart'
    );
end;
$$;

comment on function cortex.interrupt_orphans(uuid) is
'Interrupts all active jobs, or those of one runner.';
