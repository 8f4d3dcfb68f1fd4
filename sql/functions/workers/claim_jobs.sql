-- Take jobs from the queue: greater priority first, then the earlier run_at, then the older.
--
-- Called by   a worker with free hands
-- Returns     the jobs it now runs, in that order; none when nothing is ready
-- Raises      22004 a null, 22023 fewer than one job, JC102 no such runner or retired; 40001 in repeatable
--             read and serializable when jobs that it wants changed meanwhile
-- Locks       the runner's row when it asks for other kinds than before; the turnstiles of kinds that have a
--             max_running, by name; then the rows it takes, and a few that it might have taken, skipping
--             what another worker is taking

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
    v_max constant integer := coalesce(claim_jobs.max_jobs, 1);
    v_kind pg_catalog.text;
    v_limited boolean;
    v_open_kinds pg_catalog.text[] := array[]::pg_catalog.text[];
    v_limited_kinds pg_catalog.text[] := array[]::pg_catalog.text[];
    v_slots integer[] := array[]::integer[];
    v_ids bigint[];
    v_kinds constant pg_catalog.text[] := array(
        select distinct u.name
        from unnest(claim_jobs.kinds) as u (name)
        where u.name is not null
        order by u.name
    );
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

    -- For operators. A beat that is being written is not waited for: the next claim says it too.
    update cortex.runner as r
    set kinds = v_kinds
    where r.uuid = (
            select o.uuid
            from cortex.runner as o
            where o.uuid = claim_jobs.runner
                and o.kinds is distinct from v_kinds
            for no key update skip locked
        );

    -- Kinds with a limit of their own are counted under a lock, always in the same order.
    for v_kind, v_limited in
        select
            k.name,
            r.max_running is not null
        from unnest(v_kinds) as k (name)
        cross join lateral cortex.rules(kind => k.name) as r
        order by k.name
    loop
        if v_limited then
            v_limited_kinds := v_limited_kinds || v_kind;
            v_slots := v_slots || cortex.free_slots(kind => v_kind);
        else
            v_open_kinds := v_open_kinds || v_kind;
        end if;
    end loop;

    -- A follow-up starts when the job before it has ended. Only the one that waits in a scope can begin
    -- to run there, and its row is locked here, so nothing can slip in between.
    select array_agg(ready.id order by ready.priority desc, ready.run_at, ready.id)
    into v_ids
    from (
        select open_kind.*
        from (
            select j.id, j.priority, j.run_at
            from cortex.job as j
            where j.status = 'queued'
                and j.runner is null
                and j.run_at <= v_now
                and j.kind = any(v_open_kinds)
                and not exists (
                    select
                    from cortex.job as before
                    where before.kind = j.kind
                        and before.debounce_scope = j.debounce_scope
                        and before.status = 'running'
                )
            order by j.priority desc, j.run_at, j.id
            limit v_max
            for update of j skip locked
        ) as open_kind
        union all
        select limited.*
        from unnest(v_limited_kinds, v_slots) as k (name, slots)
        cross join lateral (
            select j.id, j.priority, j.run_at
            from cortex.job as j
            where j.status = 'queued'
                and j.runner is null
                and j.run_at <= v_now
                and j.kind = k.name
                and not exists (
                    select
                    from cortex.job as before
                    where before.kind = j.kind
                        and before.debounce_scope = j.debounce_scope
                        and before.status = 'running'
                )
            order by j.priority desc, j.run_at, j.id
            limit least(v_max, k.slots)
            for update of j skip locked
        ) as limited
    ) as ready;

    if v_ids is null then
        return;
    end if;
    v_ids := v_ids[1:v_max];
    perform cortex.start_jobs(ids => v_ids, runner => claim_jobs.runner);

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
