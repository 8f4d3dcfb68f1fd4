-- Put a job on the books, or find the one that already does this work.
--
-- Called by   anybody who wants work done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: an active job of this kind and
--             scope stands in its place, unchanged
-- Raises      22004 kind is null, 22023 bad argument, JC102 no such runner; 40001 in repeatable read
--             and serializable when another session changed the scope meanwhile
-- Locks       waits for a concurrent spawn of the same kind and scope to commit or roll back

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
    v_actor constant pg_catalog.text := coalesce(spawn_job.actor, '');
    v_params constant pg_catalog.jsonb := coalesce(spawn_job.params, '{}');
    v_mode constant cortex.debounce_mode := coalesce(spawn_job.debounce_on, 'active');
    v_fixed_snapshot constant boolean :=
        current_setting('transaction_isolation') in ('repeatable read', 'serializable');
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_active bigint[];
    v_uuid pg_catalog.uuid;
begin
    perform cortex.check_spawn(
        kind => spawn_job.kind,
        actor => v_actor,
        params => v_params,
        debounce_scope => spawn_job.debounce_scope,
        run_at => spawn_job.run_at
    );
    if spawn_job.runner is not null then
        perform cortex.require_runner(runner => spawn_job.runner);
    end if;

    for v_try in 1..100 loop
        -- Look first: a debounced call is the common case and should cost a read. With a fixed
        -- snapshot only for zombies in front of a follow-up: what it shows may have ended since, and
        -- nobody would do the work.
        if spawn_job.debounce_scope is not null
            and (v_try > 1 or not v_fixed_snapshot or v_mode = 'queued')
        then
            select
                array_agg(j.id),
                (
                    array_agg(j.uuid order by j.status)
                    filter (where j.status = 'queued' or v_mode = 'active')
                )[1]
            into v_active, v_uuid
            from cortex.job as j
            where j.kind = spawn_job.kind
                and j.debounce_scope = spawn_job.debounce_scope
                and (j.status = 'queued' or j.status = 'running');

            if v_active is not null
                and cortex.interrupt_silent(candidates => v_active, older_than => null)
                + cortex.interrupt_abandoned(candidates => v_active) > 0
            then
                continue;
            end if;
            if v_uuid is not null and (v_try > 1 or not v_fixed_snapshot) then
                return query select v_uuid, false;
                return;
            end if;
        end if;

        insert into cortex.job (
            kind, actor, params, debounce_scope, debounce_on, run_at, priority, runner,
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
            v_now,
            v_now
        )
        on conflict do nothing
        returning job.uuid into v_uuid;

        if found then
            return query select v_uuid, true;
            return;
        end if;
    end loop;

    raise exception 'kind % in scope % changed hands a hundred times during this call',
        spawn_job.kind, spawn_job.debounce_scope
        using errcode = '40001', hint = 'Try again.';
end;
$$;

comment on function cortex.spawn_job(
    text, text, jsonb, jsonb, cortex.debounce_mode, timestamptz, integer, uuid
) is
'Queues a job, unless an active one of the same kind and debounce scope stands in its place.';
