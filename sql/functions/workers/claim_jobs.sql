-- Take jobs from the queue: greater priority first, then the earlier run_at, then the older.
--
-- Called by   a worker with free hands
-- Returns     the jobs it now runs, in that order; none when nothing is ready
-- Raises      22004 a null, 22023 fewer than one job, JC102 no such runner or retired
-- Locks       the rows it takes; skips what another worker is taking

create or replace function cortex.claim_jobs(
    runner uuid,
    kinds text[],
    max_jobs integer default 1
)
returns setof cortex.jobs
language plpgsql
volatile
security definer
set search_path = ''
rows 1
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ids bigint[];
begin
    perform cortex.require_runner(runner => claim_jobs.runner);
    if claim_jobs.kinds is null then
        raise exception 'kinds is null'
            using errcode = '22004', hint = 'Name the kinds that this worker can run.';
    end if;
    if claim_jobs.max_jobs < 1 then
        raise exception 'max_jobs is %', claim_jobs.max_jobs
            using errcode = '22023', hint = 'Claim at least one job.';
    end if;

    v_ids := array(
        select j.id
        from cortex.job as j
        where j.status = 'queued'
            and j.runner is null
            and j.run_at <= v_now
            and j.kind = any(claim_jobs.kinds)
            -- A follow-up starts when the job before it has ended. Only the one that waits in a scope
            -- can begin to run there, and its row is locked here, so nothing can slip in between.
            and not exists (
                select
                from cortex.job as before
                where before.kind = j.kind
                    and before.debounce_scope = j.debounce_scope
                    and before.status = 'running'
            )
        order by j.priority desc, j.run_at, j.id
        limit coalesce(claim_jobs.max_jobs, 1)
        for update of j skip locked
    );
    if v_ids = '{}' then
        return;
    end if;

    update cortex.job as j
    set status = 'running',
        runner = claim_jobs.runner,
        attempt = j.attempt + 1,
        started_at = v_now,
        updated_at = v_now
    where j.id = any(v_ids);

    return query
    select jobs.*
    from unnest(v_ids) with ordinality as taken (id, place)
    join cortex.job as j on j.id = taken.id
    join cortex.jobs as jobs on jobs.uuid = j.uuid
    order by taken.place;
end;
$$;

comment on function cortex.claim_jobs(uuid, text[], integer) is
'Takes ready jobs of these kinds from the queue for a runner.';
