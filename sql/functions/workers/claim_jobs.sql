-- Take jobs from the queue: greater priority first, then the earlier run_at, then the older.
--
-- Planned once per session: planning anew for each list of kinds takes longer than the claim. And without a
-- sort of what waits, whatever the statistics say: each kind is read in the order of its index, and no table
-- from end to end, small as it may be today. That makes plans look dear, hence no jit.
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
set plan_cache_mode = force_generic_plan
set enable_sort = off
set enable_seqscan = off
set jit = off
rows 1
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_max constant integer := coalesce(claim_jobs.max_jobs, 1);
    v_kind pg_catalog.text;
    v_open_kinds pg_catalog.text[];
    v_limited_kinds pg_catalog.text[];
    v_slots integer[] := array[]::integer[];
    v_ids bigint[];
    v_window bigint[];
    v_reach bigint := v_max;
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
    select
        array_agg(k.name order by k.name) filter (where coalesce(o.max_running, s.max_running) is null),
        array_agg(k.name order by k.name) filter (where coalesce(o.max_running, s.max_running) is not null)
    into v_open_kinds, v_limited_kinds
    from unnest(v_kinds) as k (name)
    cross join cortex.settings as s
    left join cortex.kind as o on o.name = k.name;

    foreach v_kind in array coalesce(v_limited_kinds, '{}') loop
        v_slots := v_slots || cortex.free_slots(kind => v_kind);
    end loop;

    -- Each kind is read by itself, in the order of its index: what waits of other kinds is never seen.
    --
    -- A follow-up starts when the job before it, of which there is one at most, has ended. Only the one that
    -- waits in a scope can begin to run there, and its row is locked here, so nothing can slip in between.
    while v_open_kinds is not null loop
        -- The front of the queue over all these kinds, not locked, ...
        v_reach := v_reach + 8;
        v_window := array(
            select front.id
            from unnest(v_open_kinds) as k (name)
            cross join lateral (
                select j.id, j.priority, j.run_at
                from cortex.job as j
                where j.status = 'queued'
                    and j.runner is null
                    and j.run_at <= v_now
                    and j.kind = k.name
                    and (
                        j.debounce_scope is null
                        or (
                            select before.id
                            from cortex.job as before
                            where before.kind = j.kind
                                and before.debounce_scope = j.debounce_scope
                                and before.status = 'running'
                        ) is null
                    )
                order by j.priority desc, j.run_at, j.id
                limit v_reach
            ) as front
            order by front.priority desc, front.run_at, front.id
            limit v_reach
        );
        exit when v_window = '{}';
        -- ... and of it the first that nobody else is taking. To lock more would hide them from others.
        -- By their ids: the case keeps the planner from the index of all that waits, which looks small
        -- where nothing waited when the statistics were taken.
        v_ids := array(
            select j.id
            from cortex.job as j
            where j.id = any(v_window)
                and case
                    when j.status = 'queued' and j.runner is null and j.run_at <= v_now
                    then j.debounce_scope is null
                        or (
                            select before.id
                            from cortex.job as before
                            where before.kind = j.kind
                                and before.debounce_scope = j.debounce_scope
                                and before.status = 'running'
                        ) is null
                    else false
                end
            order by j.priority desc, j.run_at, j.id
            limit v_max
            for update of j skip locked
        );
        exit when cardinality(v_ids) = v_max or cardinality(v_window) < v_reach;
        v_reach := 4 * v_reach;
    end loop;

    if v_limited_kinds is not null then
        v_ids := array(
            select ready.id
            from (
                select j.id, j.priority, j.run_at
                from cortex.job as j
                where j.id = any(v_ids)
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
                        and (
                            j.debounce_scope is null
                            or (
                                select before.id
                                from cortex.job as before
                                where before.kind = j.kind
                                    and before.debounce_scope = j.debounce_scope
                                    and before.status = 'running'
                            ) is null
                        )
                    order by j.priority desc, j.run_at, j.id
                    limit least(v_max, k.slots)
                    for update of j skip locked
                ) as limited
            ) as ready
            order by ready.priority desc, ready.run_at, ready.id
            limit v_max
        );
    end if;

    if v_ids is null or v_ids = '{}' then
        return;
    end if;
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
