-- Put failed and interrupted jobs back into the queue where their kind asks for another attempt.
--
-- The pause before attempt n + 1 is backoff × 2^(n - 1), at most backoff_limit, of which a random half is
-- left out so that what failed together does not come back together ("equal jitter", Marc Brooker,
-- "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
--
-- Called by   finish_job, interrupt_jobs, in whose transaction the rows are locked
-- Returns     how many wait again
-- Locks       the job that runs in the same scope, should there be one

create or replace function cortex.retry_jobs(ids bigint[])
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_job cortex.job;
    v_rules cortex.settings;
    v_pause interval;
    v_now pg_catalog.timestamptz;
    v_newer pg_catalog.uuid;
    v_retried integer := 0;
begin
    for v_job in
        select j.*
        from cortex.job as j
        where j.id = any(retry_jobs.ids)
            and j.status in ('failed', 'interrupted')
            and j.attempt > 0
            and j.cancel_requested_at is null
        order by j.id
    loop
        v_rules := cortex.rules(kind => v_job.kind);
        if v_job.attempt >= v_rules.max_attempts
            or (v_job.status = 'interrupted' and v_rules.on_interrupt = 'leave')
            -- The body of a pinned job went with its process.
            or (
                v_job.pinned
                and not exists (
                    select from cortex.runners as r where r.uuid = v_job.runner and r.alive
                )
            )
        then
            continue;
        end if;

        -- In seconds, and a century at most: no setting may keep a job from being ended.
        v_pause := make_interval(
            secs => least(
                extract(epoch from v_rules.backoff_limit),
                extract(epoch from v_rules.backoff) * power(2::double precision, least(v_job.attempt - 1, 100)),
                extract(epoch from interval '100 years')
            )
        );
        v_now := clock_timestamp();

        -- Two of one scope on their way back would each wait for the other, in one index each. So wait
        -- first for whoever holds what stands there, with nothing in either index.
        perform
        from cortex.job as n
        where n.kind = v_job.kind
            and n.debounce_scope = v_job.debounce_scope
            and n.status = 'running'
            and n.id <> v_job.id
        for no key update;

        begin
            update cortex.job as j
            set status = 'queued',
                run_at = v_now + v_pause * (0.5 + random() / 2),
                updated_at = v_now,
                started_at = null,
                finished_at = null,
                runner = case when j.pinned then j.runner end
            where j.id = v_job.id;
            v_retried := v_retried + 1;
        exception when unique_violation then
            select n.uuid into v_newer
            from cortex.job as n
            where n.kind = v_job.kind
                and n.debounce_scope = v_job.debounce_scope
                and n.status in ('queued', 'running')
            order by n.id desc
            limit 1;

            update cortex.job as j
            set message = cortex.clip(
                j.message || format(
                    '; not tried again: %s does this work now',
                    coalesce('job ' || v_newer::pg_catalog.text, 'a newer job')
                )
            )
            where j.id = v_job.id;
        end;
    end loop;

    return v_retried;
end;
$$;

comment on function cortex.retry_jobs(bigint[]) is
'Queues failed and interrupted jobs again while their kind has attempts left.';
