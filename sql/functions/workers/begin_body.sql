-- Claim the right to run a body, once for each attempt: for executors that start a lost task again.
--
-- Called by   whoever is about to run the body, on whatever host an executor brought it to; or by a runner
--             that wants it not to begin any more
-- Returns     true exactly once for a running attempt; false: it has begun elsewhere, or is over
-- Raises      22004 job or attempt is null, JC101 no such job
-- Locks       the job's row

create or replace function cortex.begin_body(job uuid, attempt integer)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if begin_body.attempt is null then
        raise exception 'attempt is null'
            using errcode = '22004', hint = 'Give the attempt that set_running or claim_jobs began.';
    end if;

    update cortex.job as j
    set begun_attempt = begin_body.attempt
    where j.uuid = begin_body.job
        and j.status = 'running'
        and j.attempt = begin_body.attempt
        and j.begun_attempt is distinct from begin_body.attempt;

    if found then
        return true;
    end if;

    perform cortex.require_job(job => begin_body.job);
    return false;
end;
$$;

comment on function cortex.begin_body(uuid, integer) is
'Says whether the caller may run the body of this attempt: true once.';
