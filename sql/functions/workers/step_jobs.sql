-- Note how far several jobs got; hear of each whether to go on. What step does, for one job after the other.
--
-- One row that somebody has locked, or a lost attempt, costs that job its step and no other. Nothing is waited
-- for, so no two calls can wait for each other; and what is read is read by its id, whatever the statistics say.
--
-- Called by   a runner, for all its bodies that have something to say
-- Returns     for each member of jobs, in their order: the verdict; or null and the SQLSTATE that step would
--             have raised: 22004 job or current is null, JC101 no such job, 55P03 its row is locked now
-- Raises      22004 jobs or current is null, 22023 another array is not as long as jobs; 40001 in repeatable
--             read and serializable when a row changed meanwhile
-- Locks       the rows of the jobs that run, by id; skips what others have locked. Not the row of a body in SQL
--             that does not commit, whose last step is written at its end

create or replace function cortex.step_jobs(
    jobs uuid[],
    current bigint[],
    total bigint[] default null,
    message text[] default null,
    attempt integer[] default null
)
returns table (job uuid, verdict cortex.verdict, refusal text)
language plpgsql
volatile
security definer
set search_path = ''
set plan_cache_mode = force_generic_plan
set enable_seqscan = off
set enable_hashjoin = off
set enable_mergejoin = off
set jit = off
rows 100
as $$
declare
    v_own constant pg_catalog.text := current_setting('cortex.uncommitted_body', true);
    v_length constant integer := cardinality(step_jobs.jobs);
    v_stepped pg_catalog.uuid[];
    v_cancelled pg_catalog.uuid[];
begin
    if step_jobs.jobs is null or step_jobs.current is null then
        raise exception '% is null', case when step_jobs.jobs is null then 'jobs' else 'current' end
            using errcode = '22004', hint = 'Give two arrays: the jobs, and the units done of each.';
    end if;
    if cardinality(step_jobs.current) <> v_length
        or cardinality(step_jobs.total) <> v_length
        or cardinality(step_jobs.message) <> v_length
        or cardinality(step_jobs.attempt) <> v_length
    then
        raise exception 'an array is not as long as jobs, which has % members', v_length
            using errcode = '22023', hint = 'Give each array one member per job, or leave it out.';
    end if;

    with stepped as (
        update cortex.job as j
        set progress_current = s.current,
            progress_total = s.total,
            message = case
                when length(s.message) > 4000 then cortex.clip(s.message)
                else coalesce(s.message, '')
            end,
            updated_at = clock_timestamp()
        from (
            select
                l.id,
                u.current,
                u.total,
                u.message
            from unnest(
                step_jobs.jobs, step_jobs.current, step_jobs.total, step_jobs.message, step_jobs.attempt
            ) with ordinality as u (job, current, total, message, attempt, place)
            join cortex.job as l on l.uuid = u.job
            where l.status = 'running'
                and (u.attempt is null or l.attempt = u.attempt)
                and u.current is not null
                and (v_own is null or u.job::pg_catalog.text <> v_own)
            -- Of several steps of one job the last counts: the first to come is what is written.
            order by l.id, u.place desc
            for no key update of l skip locked
        ) as s
        where j.id = s.id
        returning j.uuid, j.cancel_requested_at is not null as cancel
    )
    select
        array_agg(w.uuid),
        array_agg(w.uuid) filter (where w.cancel)
    into v_stepped, v_cancelled
    from stepped as w;

    if cardinality(v_stepped) = v_length and v_cancelled is null then
        return query
        select
            u.job,
            'continue'::cortex.verdict,
            null::pg_catalog.text
        from unnest(step_jobs.jobs) as u (job);
        return;
    end if;

    -- Something is to be told: look again at each.
    return query
    select
        u.job,
        case
            when u.job is null or u.current is null or j.id is null then null
            when u.job::pg_catalog.text = v_own then cortex.hold_step(
                job => u.job, current => u.current, total => u.total, attempt => u.attempt
            )
            when j.status <> 'running' or j.attempt <> coalesce(u.attempt, j.attempt) then 'stop'
            when u.job = any(v_cancelled) then 'cancel'
            when u.job = any(v_stepped) then 'continue'
        end::cortex.verdict,
        case
            when u.job is null or u.current is null then '22004'
            when j.id is null then 'JC101'
            when u.job::pg_catalog.text = v_own then null
            when j.status <> 'running' or j.attempt <> coalesce(u.attempt, j.attempt) then null
            when u.job = any(v_stepped) then null
            else '55P03'
        end
    from unnest(
        step_jobs.jobs, step_jobs.current, step_jobs.total, step_jobs.attempt
    ) with ordinality as u (job, current, total, attempt, place)
    left join cortex.job as j on j.uuid = u.job
    order by u.place;
end;
$$;

comment on function cortex.step_jobs(uuid[], bigint[], bigint[], text[], integer[]) is
'Records progress and the heartbeat of several running jobs; says of each whether to go on.';
