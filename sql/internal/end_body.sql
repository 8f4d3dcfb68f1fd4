-- Write that a body in SQL came to its end, unless it has written its own, in the transaction of its work.
--
-- Called by   work
-- Raises      JC202 the job is at another attempt: then the work of this one does not count

create or replace function cortex.end_body(job uuid, attempt integer, result jsonb)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_status cortex.job_status;
    v_attempt integer;
    v_step constant pg_catalog.jsonb := nullif(current_setting('cortex.held_step', true), '')::pg_catalog.jsonb;
begin
    -- From here on a step is written.
    perform set_config('cortex.uncommitted_body', '', true);
    perform set_config('cortex.held_step', '', true);

    select
        j.status,
        j.attempt
    into v_status, v_attempt
    from cortex.jobs as j
    where j.uuid = end_body.job;

    -- Over already, by the body's own word or another's.
    if v_attempt = end_body.attempt and v_status in ('succeeded', 'failed', 'cancelled') then
        return;
    end if;
    if v_step is not null then
        perform cortex.step(
            job => end_body.job,
            current => (v_step ->> 0)::bigint,
            total => (v_step ->> 1)::bigint,
            attempt => end_body.attempt
        );
    end if;
    perform cortex.finish_job(
        job => end_body.job,
        status => 'succeeded',
        result => end_body.result,
        attempt => end_body.attempt
    );
end;
$$;

comment on function cortex.end_body(uuid, integer, jsonb) is
'Ends a job whose body in SQL returned.';
