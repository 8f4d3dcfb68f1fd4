-- Delete pg_cron's record of our own entry's runs, older than a day; nobody else's.
--
-- Called by   maintain
-- Returns     how many; 0 where pg_cron lives elsewhere, or is closed to the owner of this schema

create or replace function cortex.purge_cron_runs()
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_deleted integer;
begin
    if not exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron')
        or not has_schema_privilege(to_regnamespace('cron'), 'usage')
    then
        return 0;
    end if;

    delete from cron.job_run_details as d
    where d.jobid in (
        select j.jobid
        from cron.job as j
        where j.jobname = cortex.cron_entry()
            and j.database = current_database()
    )
    and d.end_time < clock_timestamp() - interval '1 day';

    get diagnostics v_deleted = row_count;
    return v_deleted;
end;
$$;

comment on function cortex.purge_cron_runs() is
'Deletes the record of our own pg_cron runs that ended over a day ago.';
