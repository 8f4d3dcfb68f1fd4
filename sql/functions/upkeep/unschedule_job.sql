-- Let a job come back no more. What was spawned stays.
--
-- Called by   an operator
-- Returns     whether there was such a schedule
-- Raises      22004 name is null; 42501 another role made the entry in pg_cron, or the owner of this schema may
--             not use pg_cron

create or replace function cortex.unschedule_job(name text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_found boolean;
begin
    if unschedule_job.name is null then
        raise exception 'name is null'
            using errcode = '22004', hint = 'See cortex.list_schedules().';
    end if;

    delete from cortex.schedule as s where s.name = unschedule_job.name;
    v_found := found;

    -- A restored database has schedules without entries; they can go as well.
    if exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron') then
        v_found := cortex.take_cron_entry(
            entry => cortex.schedule_entry(name => unschedule_job.name), command => null
        ) or v_found;
    end if;
    return v_found;
end;
$$;

comment on function cortex.unschedule_job(text) is
'Takes a job''s schedule off pg_cron.';
