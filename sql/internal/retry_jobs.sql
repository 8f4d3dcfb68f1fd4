-- Put failed and interrupted jobs back into the queue where their kind asks for another attempt.
--
-- The pause before attempt n + 1 is backoff × 2^(n - 1), at most backoff_limit, of which a random half is
-- left out so that what failed together does not come back together ("equal jitter", Marc Brooker,
-- "Exponential Backoff And Jitter", AWS Architecture Blog, 2015).
--
-- Planned once per session: planning anew for each list of jobs takes longer than to look at them.
--
-- Called by   finish_job, interrupt_jobs, in whose transaction the rows are locked
-- Returns     how many wait again
-- Locks       the job that runs in the same scope, should there be one

create or replace function cortex.retry_jobs(ids bigint[])
returns integer
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
as $$
declare
    v_job pg_catalog.record;
    v_pause interval;
    v_now pg_catalog.timestamptz;
    v_newer pg_catalog.uuid;
    v_retried integer := 0;
begin
    -- One look for all of them, in which most fall out: by default nothing is tried again. By their ids: the
    -- case keeps the planner from the index of all that ever failed.
    for v_job in
        select
            j.id,
            j.kind,
            j.debounce_scope,
            j.attempt,
            coalesce(k.backoff, s.backoff) as backoff,
            s.backoff_limit
        from cortex.job as j
        left join cortex.kind as k on k.name = j.kind
        cross join cortex.settings as s
        where j.id = any(retry_jobs.ids)
            and j.attempt > 0
            and j.attempt < coalesce(k.max_attempts, s.max_attempts)
            and j.cancel_requested_at is null
            and case j.status
                when 'failed' then true
                when 'interrupted' then coalesce(k.on_interrupt, s.on_interrupt) <> 'leave'
                else false
            end
            -- The body of a pinned job went with its process.
            and (
                not j.pinned
                or exists (
                    select from cortex.runners as r where r.uuid = j.runner and r.alive
                )
            )
        order by j.id
    loop
        -- In seconds, and a century at most: no setting may keep a job from being ended.
        v_pause := make_interval(
            secs => least(
                extract(epoch from v_job.backoff_limit),
                extract(epoch from v_job.backoff) * power(2::double precision, least(v_job.attempt - 1, 100)),
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
