-- Write the end of bodies in SQL that raised an error where work could not catch it.
--
-- Where pg_cron ran them, its record has the error. Where the session lives on, it was told to whoever called
-- work there. A session that is gone without a record was killed: its job is an orphan, which upkeep ends.
--
-- Called by   work, first; as its caller, who sees its own runs in pg_cron's record
-- Returns     how many it ended

create or replace function cortex.settle_bodies()
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_record constant boolean := exists (
            select from pg_catalog.pg_extension as e where e.extname = 'pg_cron'
        )
        and has_schema_privilege(to_regnamespace('cron'), 'usage');
    v_lost pg_catalog.record;
    v_message pg_catalog.text;
    v_ended integer := 0;
begin
    for v_lost in
        select l.* from cortex.lost_bodies() as l
    loop
        v_message := null;
        if not v_lost.gone then
            v_message := format(
                'an error ended its body; it was told to whoever called cortex.work in session %s',
                v_lost.pid
            );
        elsif v_record then
            select
                btrim(regexp_replace(split_part(d.return_message, e'\nCONTEXT:', 1), '^ERROR: +', ''))
            into v_message
            from cron.job_run_details as d
            where d.job_pid = v_lost.pid
                and d.database = current_database()
                and d.status = 'failed'
                and d.command ~ '^call cortex[.]work[(]'
                -- What pg_cron writes of a run's times can be a moment off.
                and d.end_time > v_lost.since - interval '1 minute'
                and d.start_time > v_lost.since - interval '1 hour'
                and d.start_time < v_lost.since + interval '1 minute'
                -- What ends a session is no error of the body.
                and d.return_message !~ '^(FATAL|PANIC|server closed|connection)'
            order by d.runid desc
            limit 1;
        end if;
        continue when v_message is null;

        begin
            perform cortex.finish_job(
                job => v_lost.job,
                status => case
                    when v_lost.cancelled then 'cancelled'::cortex.job_status
                    else 'failed'::cortex.job_status
                end,
                message => case
                    when v_lost.cancelled then 'cancelled on request, amid a statement'
                    else v_message
                end,
                attempt => v_lost.attempt
            );
            perform cortex.retire_runner(runner => v_lost.runner);
            v_ended := v_ended + 1;
        exception when others then
            raise warning 'the end of job % can''t be written: %', v_lost.job, sqlerrm;
        end;
    end loop;

    return v_ended;
end;
$$;

comment on function cortex.settle_bodies() is
'Writes the end of bodies in SQL whose error could not be caught.';
