-- Spawn the job of a schedule now.
--
-- Called by   pg_cron, when its time has come; an operator who does not want to wait
-- Returns     the job's uuid, and whether it was created now; false: the one before it still waits or runs
-- Raises      22004 name is null, 22023 no such schedule; what spawn_job raises
-- Locks       the schedule's row, then what spawn_job locks

create or replace function cortex.spawn_scheduled(name text)
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_schedule cortex.schedule;
begin
    if spawn_scheduled.name is null then
        raise exception 'name is null'
            using errcode = '22004', hint = 'See cortex.list_schedules().';
    end if;

    select s.* into v_schedule
    from cortex.schedule as s
    where s.name = spawn_scheduled.name
    for no key update;

    if not found then
        raise exception 'no such schedule: %', spawn_scheduled.name
            using errcode = '22023', hint = 'See cortex.list_schedules().';
    end if;

    select
        j.uuid,
        j.created
    into spawn_scheduled.uuid, spawn_scheduled.created
    from cortex.spawn_job(
        kind => v_schedule.kind,
        actor => v_schedule.actor,
        params => v_schedule.params,
        debounce_scope => v_schedule.debounce_scope,
        debounce_on => v_schedule.debounce_on,
        priority => v_schedule.priority
    ) as j;

    update cortex.schedule as s
    set last_job = spawn_scheduled.uuid,
        last_spawned_at = clock_timestamp()
    where s.name = spawn_scheduled.name;

    return next;
end;
$$;

comment on function cortex.spawn_scheduled(text) is
'Spawns the job of a schedule, as pg_cron does when its time has come.';
