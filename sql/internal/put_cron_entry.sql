-- Put an entry of ours on pg_cron, change its schedule, or switch it on again.
--
-- Runs as its caller, who owns the entry then.
--
-- Called by   schedule_maintenance, schedule_work, schedule_job
-- Returns     the number of the entry
-- Raises      what require_cron raises; 22023 the schedule isn't a cron line (pg_cron judges what has five
--             fields)
-- Warns       of a schedule that never comes true

create or replace function cortex.put_cron_entry(
    entry text,
    schedule text,
    statement text,
    command text
)
returns bigint
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_schedule constant pg_catalog.text := btrim(put_cron_entry.schedule, e' \t\r\n');
    v_entry bigint;
begin
    -- Some versions of pg_cron read five fields and drop a sixth without a word.
    if array_length(regexp_split_to_array(v_schedule, '[[:space:]]+'), 1) > 5 then
        raise exception 'schedule % has more than five fields', left(v_schedule, 100)
            using errcode = '22023', hint = 'Give minute, hour, day, month and weekday: * * * * *';
    end if;

    perform cortex.require_cron(
        command => put_cron_entry.command,
        statement => format(
            'select cron.schedule_in_database(%L, %L, %L, %L)',
            put_cron_entry.entry, v_schedule, put_cron_entry.statement, current_database()
        )
    );

    -- To schedule an entry again leaves it switched off, where it was.
    perform cron.unschedule(j.jobid)
    from cron.job as j
    where j.jobname = put_cron_entry.entry
        and j.database = current_database()
        and j.username = current_user
        and not j.active;

    v_entry := cron.schedule(put_cron_entry.entry, v_schedule, put_cron_entry.statement);

    -- A range that goes downwards is no error to pg_cron. @reboot is when the server starts.
    if v_schedule not ilike '@reboot' and cortex.next_run(line => v_schedule) is null then
        raise warning 'schedule % seems never to come true', v_schedule
            using hint = 'A range goes upwards, such as 22-23 or fri-sat, and the day must be one that there is.';
    end if;
    return v_entry;
exception when invalid_parameter_value then
    raise exception '%', sqlerrm
        using errcode = '22023',
        hint = format(
            'pg_cron %s here. Five fields, at the finest every minute: * * * * *; from 1.5 on also '
            || '"[1-59] seconds".',
            (select e.extversion from pg_catalog.pg_extension as e where e.extname = 'pg_cron')
        );
end;
$$;

comment on function cortex.put_cron_entry(text, text, text, text) is
'Puts an entry on pg_cron as the caller''s; idempotent.';
