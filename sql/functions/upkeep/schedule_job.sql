-- Let a job come back: put its spawn on pg_cron, or change what is there under that name.
--
-- The job is debounced, by default one of its kind at a time: where the one before still waits or runs, the
-- next spawn finds it and makes no other.
--
-- Called by   an operator, once for each schedule
-- Returns     the number of the entry in pg_cron
-- Raises      22004 name, schedule or kind is null, 22023 one that is out of bounds, or the schedule isn't a
--             cron line (pg_cron judges what has five fields); 0A000 pg_cron can't be called here (the hint
--             says what to do), 28000 the owner of this schema can't log in, 42501 or may not use pg_cron
-- Warns       of a schedule that never comes true

create or replace function cortex.schedule_job(
    name text,
    schedule text,
    kind text,
    params jsonb default '{}',
    actor text default '',
    debounce_scope jsonb default '{}',
    debounce_on cortex.debounce_mode default 'active',
    priority integer default 0
)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_params constant pg_catalog.jsonb := coalesce(schedule_job.params, '{}');
    v_scope constant pg_catalog.jsonb := coalesce(schedule_job.debounce_scope, '{}');
begin
    if schedule_job.name is null or schedule_job.schedule is null then
        raise exception '% is null', case when schedule_job.name is null then 'name' else 'schedule' end
            using errcode = '22004', hint = 'Say under which name, and when: 0 3 * * *';
    end if;
    if schedule_job.name !~ '[^[:space:]]' or length(schedule_job.name) > 200 then
        raise exception 'the name of a schedule is % characters long', length(schedule_job.name)
            using errcode = '22023', hint = '1 to 200 characters, not all blank.';
    end if;
    perform cortex.check_spawn(
        kind => schedule_job.kind,
        actor => schedule_job.actor,
        params => v_params,
        debounce_scope => v_scope,
        run_at => null
    );

    insert into cortex.schedule as s (
        name, line, kind, actor, params, debounce_scope, debounce_on, priority
    )
    values (
        schedule_job.name,
        schedule_job.schedule,
        schedule_job.kind,
        coalesce(schedule_job.actor, ''),
        v_params,
        v_scope,
        coalesce(schedule_job.debounce_on, 'active'),
        coalesce(schedule_job.priority, 0)
    )
    on conflict on constraint schedule_pkey do update
    set line = excluded.line,
        kind = excluded.kind,
        actor = excluded.actor,
        params = excluded.params,
        debounce_scope = excluded.debounce_scope,
        debounce_on = excluded.debounce_on,
        priority = excluded.priority,
        scheduled_at = clock_timestamp(),
        scheduled_by = session_user;

    return cortex.put_cron_entry(
        entry => cortex.schedule_entry(name => schedule_job.name),
        schedule => schedule_job.schedule,
        statement => case
            when exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron')
                then format('select cortex.spawn_scheduled(%L)', schedule_job.name)
            -- For the hint of what to run where pg_cron lives: what is noted here is undone by the error.
            else format(
                'select cortex.spawn_job(kind => %L, actor => %L, params => %L, debounce_scope => %L, '
                'debounce_on => %L, priority => %s)',
                schedule_job.kind,
                coalesce(schedule_job.actor, ''),
                v_params,
                v_scope,
                coalesce(schedule_job.debounce_on, 'active'),
                coalesce(schedule_job.priority, 0)
            )
        end,
        command => null
    );
end;
$$;

comment on function cortex.schedule_job(
    text, text, text, jsonb, text, jsonb, cortex.debounce_mode, integer
) is
'Spawns a job again and again, by pg_cron; idempotent by name.';
