-- What comes back, when, and how it went.
--
-- Called by   whoever wants to know
-- Returns     one row per schedule, by name. active is false where pg_cron has no entry for it: it was switched
--             off there, or the database was restored, and schedule_job puts it back. What pg_cron says of its
--             last run is null where it never ran, its record was purged, or another role made the entry

create or replace function cortex.list_schedules()
returns table (
    name text,
    schedule text,
    kind text,
    params jsonb,
    active boolean,
    last_run_at timestamptz,
    last_run_status text,
    last_run_message text,
    next_run_at timestamptz,
    last_job uuid,
    last_job_status cortex.job_status,
    last_job_message text
)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_zone pg_catalog.text := 'GMT';
    v_schedule cortex.schedule;
    v_entry bigint;
begin
    begin
        -- From 1.5 on pg_cron may read lines in another zone.
        v_zone := coalesce(nullif(current_setting('cron.timezone', true), ''), 'GMT');
    exception when insufficient_privilege then
        null;
    end;

    for v_schedule in
        select s.* from cortex.schedule as s order by s.name
    loop
        name := v_schedule.name;
        schedule := v_schedule.line;
        kind := v_schedule.kind;
        params := v_schedule.params;
        active := false;
        last_run_at := null;
        last_run_status := null;
        last_run_message := null;
        next_run_at := null;
        v_entry := null;

        if exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron')
            and has_schema_privilege(to_regnamespace('cron'), 'usage')
        then
            select
                c.jobid,
                c.active,
                c.schedule
            into v_entry, list_schedules.active, list_schedules.schedule
            from cron.job as c
            where c.jobname = cortex.schedule_entry(name => v_schedule.name)
                and c.database = current_database()
            order by c.username = current_user desc
            limit 1;

            active := coalesce(active, false);
            schedule := coalesce(schedule, v_schedule.line);

            select
                d.start_time,
                d.status,
                btrim(d.return_message)
            into last_run_at, last_run_status, last_run_message
            from cron.job_run_details as d
            where d.jobid = v_entry
            order by d.runid desc
            limit 1;
        end if;

        if active then
            next_run_at := case
                -- Counted from the last one.
                when schedule ~ 'second' then greatest(
                    cortex.next_run(
                        line => schedule, after => coalesce(last_run_at, clock_timestamp()), zone => v_zone
                    ),
                    clock_timestamp()
                )
                else cortex.next_run(line => schedule, after => clock_timestamp(), zone => v_zone)
            end;
        end if;

        last_job := v_schedule.last_job;
        select
            j.status,
            j.message
        into last_job_status, last_job_message
        from cortex.job as j
        where j.uuid = v_schedule.last_job;

        return next;
    end loop;
end;
$$;

comment on function cortex.list_schedules() is
'Jobs that come back: when, how the last run went, when the next one is.';
