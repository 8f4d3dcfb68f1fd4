-- Put a job on the books, or find the one that already does this work.
--
-- Called by   anybody who wants work done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: an active job of this kind and
--             scope stands in its place, unchanged
-- Raises      22004 kind is null, 22023 bad argument, JC102 no such runner, 55000 a zombie in its way can't be
--             ended; 40001 in repeatable read and serializable when another session changed the scope meanwhile
-- Locks       mode queued: the waiting job it answers with, so that it starts after this commit. Waits for a
--             concurrent spawn of the same kind and scope to commit or roll back, and up to two
--             seconds for whoever has the row of a zombie there

create or replace function cortex.spawn_job(
    kind text,
    actor text default '',
    params jsonb default '{}',
    debounce_scope jsonb default null,
    debounce_on cortex.debounce_mode default 'active',
    run_at timestamptz default null,
    priority integer default 0,
    runner uuid default null
)
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_can_look boolean;
    v_is_clear boolean := false;
    v_may_be_dead boolean := false;
    v_status cortex.job_status;
    v_runner pg_catalog.uuid;
    v_seen pg_catalog.timestamptz;
    v_waiting pg_catalog.uuid;
    v_found pg_catalog.uuid;
begin
    -- Look first: a debounced call is the common case and should cost a read. A kind and a scope in which a job
    -- stands are fine; what else can be wrong, in one expression. No compression is that good: what
    -- measures so little is not too long. A fixed snapshot may show what has ended since.
    v_can_look := spawn_job.debounce_scope is not null
        and (spawn_job.actor is null or length(spawn_job.actor) <= 200)
        and (
            spawn_job.params is null
            or (jsonb_typeof(spawn_job.params) = 'object' and pg_column_size(spawn_job.params) <= 30000)
        )
        and (spawn_job.run_at is null or isfinite(spawn_job.run_at))
        and current_setting('transaction_isolation') not in ('repeatable read', 'serializable');

    if v_can_look then
        -- What runs, or else waits in mode active, has one index. A follow-up that waits alone is met by the
        -- insert below.
        select j.uuid, j.status, j.runner, j.updated_at
        into v_found, v_status, v_runner, v_seen
        from cortex.job as j
        where j.kind = spawn_job.kind
            and j.debounce_scope = spawn_job.debounce_scope
            and (j.status = 'running' or (j.status = 'queued' and j.debounce_on = 'active'));

        if v_found is not null then
            -- What waits for anybody is alive. Of the others it is asked whether they look like a zombie,
            -- and of what runs, whether a follow-up waits behind it.
            if v_status = 'running' or v_runner is not null then
                select
                    w.uuid,
                    (
                        v_status = 'running'
                        and clock_timestamp() - v_seen > coalesce(k.stale_after, s.stale_after)
                    )
                    or w.runner <> v_runner
                    or o.retired_at is not null
                    or clock_timestamp() - o.seen_at > s.runner_grace
                into v_waiting, v_may_be_dead
                from cortex.settings as s
                left join cortex.kind as k on k.name = spawn_job.kind
                left join cortex.job as w
                    on w.kind = spawn_job.kind
                    and w.debounce_scope = spawn_job.debounce_scope
                    and w.status = 'queued'
                left join cortex.runner as o on o.uuid = coalesce(v_runner, w.runner)
                where s.only_row;
            end if;

            if spawn_job.debounce_on is distinct from 'queued' and v_may_be_dead is not true then
                if spawn_job.runner is not null then
                    perform cortex.require_runner(runner => spawn_job.runner);
                end if;
                uuid := coalesce(v_waiting, v_found);
                created := false;
                return next;
                return;
            end if;
        end if;
        v_is_clear := v_found is null
            or (v_status = 'running' and v_waiting is null and v_may_be_dead is not true);
    end if;

    -- A block of its own: what it declares costs only those who come here.
    declare
        v_actor constant pg_catalog.text := coalesce(spawn_job.actor, '');
        v_params constant pg_catalog.jsonb := coalesce(spawn_job.params, '{}');
        v_mode constant cortex.debounce_mode := coalesce(spawn_job.debounce_on, 'active');
        v_fixed_snapshot constant boolean := spawn_job.debounce_scope is not null
        and current_setting('transaction_isolation') in ('repeatable read', 'serializable');
        v_now constant pg_catalog.timestamptz := clock_timestamp();
        v_refused boolean := false;
        v_active bigint[];
        v_dead bigint[];
        v_outwaited bigint;
        v_id bigint;
        v_uuid pg_catalog.uuid;
    begin
        -- A call costs as much as all the checks together; what plainly passes need not make it.
        if spawn_job.kind is null
            or length(spawn_job.kind) > 200
            or ascii(spawn_job.kind) not between 33 and 126
            or length(v_actor) > 200
            or jsonb_typeof(v_params) <> 'object'
            or pg_column_size(v_params) > 30000
            or jsonb_typeof(spawn_job.debounce_scope) <> 'object'
            or pg_column_size(jsonb_build_array(spawn_job.debounce_scope)) > 1500
            or not isfinite(spawn_job.run_at)
        then
            perform cortex.check_spawn(
                kind => spawn_job.kind,
                actor => v_actor,
                params => v_params,
                debounce_scope => spawn_job.debounce_scope,
                run_at => spawn_job.run_at
            );
        end if;
        if spawn_job.runner is not null then
            perform cortex.require_runner(runner => spawn_job.runner);
        end if;

        if spawn_job.debounce_scope is null then
            insert into cortex.job (
                kind, actor, params, debounce_on, run_at, priority, runner, pinned, created_at, updated_at
            )
            values (
                spawn_job.kind,
                v_actor,
                v_params,
                v_mode,
                coalesce(spawn_job.run_at, v_now),
                coalesce(spawn_job.priority, 0),
                spawn_job.runner,
                spawn_job.runner is not null,
                v_now,
                v_now
            )
            returning job.uuid into v_uuid;

            uuid := v_uuid;
            created := true;
            return next;
            return;
        end if;

        for v_try in 1..100 loop
            -- The thorough look. A fixed snapshot may show what has ended since, so there the answer counts
            -- only once the index has refused a new job, and the first look is only for zombies in front of a
            -- follow-up.
            if v_refused
                or (not v_fixed_snapshot and not v_is_clear)
                or (v_fixed_snapshot and v_mode = 'queued')
            then
                -- Both in one look: a job that is over by the time it is checked is no zombie, but no
                -- answer either.
                select
                    array_agg(j.id),
                    array_agg(j.id) filter (where j.is_dead),
                    (array_agg(j.id order by j.status) filter (where j.is_in_the_way))[1],
                    (array_agg(j.uuid order by j.status) filter (where j.is_in_the_way))[1]
                into v_active, v_dead, v_id, v_uuid
                from (
                    select
                        a.id,
                        a.uuid,
                        a.status,
                        a.status = 'queued' or v_mode = 'active' as is_in_the_way,
                        -- Cheap signs first, which every zombie shows; few jobs need the full look.
                        case
                            when clock_timestamp() - a.updated_at
                                > (
                                    select coalesce(k.stale_after, s.stale_after)
                                    from cortex.settings as s
                                    left join cortex.kind as k on k.name = spawn_job.kind
                                )
                                or exists (
                                    select
                                    from cortex.runner as r
                                    cross join cortex.settings as s
                                    where r.uuid = a.runner
                                        and (
                                            r.retired_at is not null
                                            or clock_timestamp() - r.seen_at > s.runner_grace
                                        )
                                )
                            then exists (
                                    select
                                    from cortex.silent_jobs(
                                        candidates => array[a.id], older_than => null
                                    )
                                )
                                or exists (
                                    select from cortex.abandoned_jobs(candidates => array[a.id])
                                )
                            else false
                        end as is_dead
                    from (
                        -- One by one, each by its index.
                        select w.*
                        from cortex.job as w
                        where w.kind = spawn_job.kind
                            and w.debounce_scope = spawn_job.debounce_scope
                            and w.status = 'queued'
                        union all
                        select r.*
                        from cortex.job as r
                        where r.kind = spawn_job.kind
                            and r.debounce_scope = spawn_job.debounce_scope
                            and r.status = 'running'
                    ) as a
                ) as j;

                if v_dead is not null
                    and cortex.interrupt_silent(candidates => v_dead, older_than => null)
                    + cortex.interrupt_abandoned(candidates => v_dead) > 0
                then
                    v_refused := false;
                    continue;
                end if;
                if v_id is not null and (v_refused or not v_fixed_snapshot) then
                    -- A zombie whose row somebody has: to end it, to replace it, or to prove it alive after
                    -- all. The outcome counts, so wait for it and look again.
                    if v_id = any(coalesce(v_dead, '{}')) then
                        if v_id = v_outwaited then
                            raise exception 'job % is dead, but can''t be ended', v_uuid
                                using errcode = '55000',
                                hint = 'A warning says why: a trigger, a policy or an open transaction.';
                        end if;
                        if cortex.outwait(id => v_id) then
                            v_outwaited := v_id;
                            continue;
                        end if;
                    end if;
                    if v_fixed_snapshot and v_mode = 'active' and cardinality(v_active) > 1 then
                        -- One of the two kept the new job out; the snapshot can't tell which. Locking the
                        -- one that waits raises 40001 if it does not wait any more.
                        perform from cortex.job as j where j.id = v_id for share;
                    end if;
                    if v_mode = 'queued' then
                        -- The follow-up must see what this transaction has written, so it may not start
                        -- before the commit: claims go round the row until then.
                        perform
                        from cortex.job as j
                        where j.id = v_id
                            and j.status = 'queued'
                        for key share;
                        if not found then
                            continue;
                        end if;
                        perform pg_notify('cortex_queue', spawn_job.kind);
                    end if;
                    uuid := v_uuid;
                    created := false;
                    return next;
                    return;
                end if;
            end if;

            insert into cortex.job (
                kind, actor, params, debounce_scope, debounce_on, run_at, priority, runner, pinned,
                created_at, updated_at
            )
            values (
                spawn_job.kind,
                v_actor,
                v_params,
                spawn_job.debounce_scope,
                v_mode,
                coalesce(spawn_job.run_at, v_now),
                coalesce(spawn_job.priority, 0),
                spawn_job.runner,
                spawn_job.runner is not null,
                v_now,
                v_now
            )
            on conflict do nothing
            returning job.uuid into v_uuid;

            if found then
                uuid := v_uuid;
                created := true;
                return next;
                return;
            end if;
            v_refused := true;
        end loop;

        raise exception 'kind % in scope % changed hands a hundred times during this call',
            spawn_job.kind, spawn_job.debounce_scope
            using errcode = '40001', hint = 'Try again.';
    end;
end;
$$;

comment on function cortex.spawn_job(
    text, text, jsonb, jsonb, cortex.debounce_mode, timestamptz, integer, uuid
) is
'Queues a job, unless an active one of the same kind and debounce scope stands in its place.';
