-- Delete pg_cron's record of what our own entries did over a day ago; nobody else's. The last run of a
-- schedule stays, however long ago it was.
--
-- Called by   maintain, for the entries of the owner of this schema; work, for its caller's
-- Returns     how many; 0 where pg_cron lives elsewhere, or is closed to the caller

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
        where j.database = current_database()
            and (
                j.jobname = cortex.cron_entry()
                or (
                    j.jobname like 'cortex.%'
                    and j.command ~ '^(call cortex[.]work|select cortex[.]spawn_scheduled)[(]'
                )
            )
    )
    and d.end_time < clock_timestamp() - interval '1 day'
    and (
        coalesce(d.command, '') !~ '^select cortex[.]spawn_scheduled[(]'
        or exists (
            select
            from cron.job_run_details as later
            where later.jobid = d.jobid
                and later.runid > d.runid
        )
    );

    get diagnostics v_deleted = row_count;
    return v_deleted;
end;
$$;

comment on function cortex.purge_cron_runs() is
'Deletes the record of our own pg_cron runs that ended over a day ago, but the last of a schedule.';
