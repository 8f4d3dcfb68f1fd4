-- End sessions that did not heed the cancelling of their statement within the grace, and write the end
-- of jobs that were cancelled hard where nobody is left to write it.
--
-- Called by   maintain
-- Returns     how many sessions it ended
-- Locks       the rows of their jobs, by id; skips what others have locked

create or replace function cortex.end_backends()
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_grace interval;
    v_job cortex.job;
    v_ended integer := 0;
begin
    select s.cancel_grace into v_grace from cortex.settings as s;

    for v_job in
        select j.*
        from cortex.job as j
        where j.backend_pid is not null
            and v_now - case
                when j.status = 'running' then j.cancel_hard_at
                -- It was interrupted; what came after may be another attempt, or its cancelling.
                else (
                    select max(e.at)
                    from cortex.event as e
                    where e.job_id = j.id
                        and e.to_status = 'interrupted'
                )
            end > v_grace
        order by j.id
        for update skip locked
    loop
        if cortex.signal_backend(
            pid => v_job.backend_pid, backend_start => v_job.backend_start, terminate => true
        )
        then
            v_ended := v_ended + 1;
        end if;

        begin
            update cortex.job as j
            set backend_pid = null,
                backend_start = null
            where j.id = v_job.id;
        exception when others then
            raise warning 'the session of job % can''t be forgotten: %', v_job.uuid, sqlerrm;
        end;
    end loop;

    for v_job in
        select j.*
        from cortex.job as j
        where j.status = 'running'
            and v_now - j.cancel_hard_at > v_grace
            -- A runner that lives writes the end itself.
            and not exists (
                select from cortex.runners as r where r.uuid = j.runner and r.alive
            )
        order by j.id
        for update of j skip locked
    loop
        begin
            perform cortex.finish_job(
                job => v_job.uuid,
                status => 'cancelled',
                message => 'cancelled; nobody wrote its end within the grace',
                attempt => v_job.attempt
            );
        exception when others then
            raise warning 'job % can''t be ended: %', v_job.uuid, sqlerrm;
        end;
    end loop;

    return v_ended;
end;
$$;

comment on function cortex.end_backends() is
'Ends sessions whose jobs were cancelled hard or interrupted and that run on after the grace.';
