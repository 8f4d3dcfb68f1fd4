-- Let pg_cron run the upkeep of this database; call it again to change the schedule, or to switch an entry
-- on that was switched off.
--
-- Called by   an operator, once
-- Returns     the number of the entry in pg_cron
-- Raises      0A000 pg_cron can't be called here (the hint says what to do),
--             22023 the schedule isn't a cron line (pg_cron judges what has five fields),
--             28000 the owner of this schema can't log in, 42501 or may not use pg_cron
-- Warns       of a schedule that never comes true, or so seldom that what hangs looks alive for longer than
--             its kind allows

create or replace function cortex.schedule_maintenance(schedule text default '* * * * *')
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_schedule constant pg_catalog.text := coalesce(schedule_maintenance.schedule, '* * * * *');
    v_entry bigint;
    v_next pg_catalog.timestamptz;
    v_pause interval;
    v_shortest interval;
begin
    v_entry := cortex.put_cron_entry(
        entry => cortex.cron_entry(),
        schedule => v_schedule,
        statement => 'select cortex.maintain()',
        command => 'pycortex schedule'
    );

    v_next := cortex.next_run(line => v_schedule);
    v_pause := cortex.next_run(line => v_schedule, after => v_next) - v_next;
    select least(s.stale_after, min(k.stale_after))
    into v_shortest
    from cortex.settings as s
    left join cortex.kind as k on true
    group by s.stale_after;
    if v_pause >= v_shortest then
        raise warning 'schedule % runs the upkeep every % only, but a job may be silent for no more than %',
            v_schedule, v_pause, v_shortest
            using hint = 'Every minute is * * * * *; a worker that runs keeps it up as well.';
    end if;

    return v_entry;
end;
$$;

comment on function cortex.schedule_maintenance(text) is
'Puts the upkeep of this database on pg_cron; idempotent.';
