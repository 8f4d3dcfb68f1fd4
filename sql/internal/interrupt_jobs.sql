-- End jobs as interrupted, each with its reason, if they are still as they were seen.
--
-- Planned once per session: planning anew for each list of jobs takes longer than to end a few.
--
-- Called by   whatever finds jobs that must end: silent, abandoned, overdue, swept
-- Returns     how many it ended; some may wait again, where their kind says so
-- Raises      40001 in repeatable read and serializable, 25006 where nothing can be written; with any other
--             trouble a job is left for the next time, with a warning: somebody's trigger or policy minds it,
--             or its return to the queue would wait for the spawn of a follow-up that is not committed yet
-- Locks       the rows it ends, by id; a row that somebody has locked is left for the next time
-- Signals     the sessions that run their SQL: the statement is cancelled

create or replace function cortex.interrupt_jobs(
    ids bigint[],
    reasons text[],
    as_seen timestamptz[]
)
returns integer
language plpgsql
volatile
set search_path = ''
set plan_cache_mode = force_generic_plan
set lock_timeout = '500ms'
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_ended integer;
    v_ran bigint[];
    v_attached bigint[];
    v_half integer;
begin
    if interrupt_jobs.ids is null then
        return 0;
    end if;

    begin
        with locked as (
            select
                j.id,
                j.status,
                given.reason
            from unnest(interrupt_jobs.ids, interrupt_jobs.reasons, interrupt_jobs.as_seen)
                as given (id, reason, updated_at)
            join cortex.job as j on j.id = given.id
            where j.updated_at = given.updated_at
                -- By their ids: the case keeps the planner from the index of all that is active.
                and case when j.status in ('queued', 'running') then true else false end
            order by j.id
            for update of j skip locked
        ),
        ended as (
            update cortex.job as j
            set status = 'interrupted',
                message = case
                    when length(locked.reason) > 4000 then cortex.clip(locked.reason)
                    else locked.reason
                end,
                finished_at = greatest(v_now, j.started_at)
            from locked
            where j.id = locked.id
            returning
                j.id,
                locked.status as before,
                j.backend_pid
        )
        select
            count(*),
            array_agg(ended.id) filter (where ended.before = 'running'),
            array_agg(ended.id) filter (where ended.backend_pid is not null)
        into v_ended, v_ran, v_attached
        from ended;

        if v_attached is not null then
            perform cortex.signal_backend(
                pid => j.backend_pid, backend_start => j.backend_start, terminate => false
            )
            from cortex.job as j
            where j.id = any(v_attached);
        end if;

        -- What only waited has used no attempt; to queue it again would end nothing.
        if v_ran is not null then
            perform cortex.retry_jobs(ids => v_ran);
        end if;
        return v_ended;
    exception
        when serialization_failure or read_only_sql_transaction then
            raise;
        when others then
            if cardinality(interrupt_jobs.ids) = 1 then
                raise warning 'job with id % can''t be ended: %', interrupt_jobs.ids[1], sqlerrm;
                return 0;
            end if;
    end;

    -- One of them makes trouble; the others must not wait for it. Half by half it is found soon.
    v_half := cardinality(interrupt_jobs.ids) / 2;
    return cortex.interrupt_jobs(
        ids => interrupt_jobs.ids[:v_half],
        reasons => interrupt_jobs.reasons[:v_half],
        as_seen => interrupt_jobs.as_seen[:v_half]
    )
    + cortex.interrupt_jobs(
        ids => interrupt_jobs.ids[v_half + 1:],
        reasons => interrupt_jobs.reasons[v_half + 1:],
        as_seen => interrupt_jobs.as_seen[v_half + 1:]
    );
end;
$$;

comment on function cortex.interrupt_jobs(bigint[], text[], timestamptz[]) is
'Interrupts jobs, each with its reason, unless they have changed since they were looked at.';
