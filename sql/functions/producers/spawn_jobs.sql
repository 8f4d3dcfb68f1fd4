-- Put many jobs of one kind on the books with one statement.
--
-- Called by   whoever has a batch of work; part of the caller's transaction
-- Returns     their uuids, in the order of the params
-- Raises      22004 kind, params or one of them is null, 22023 bad argument; then none is made

create or replace function cortex.spawn_jobs(
    kind text,
    params jsonb[],
    actor text default '',
    priority integer default 0
)
returns setof uuid
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_actor constant pg_catalog.text := coalesce(spawn_jobs.actor, '');
    v_priority constant integer := coalesce(spawn_jobs.priority, 0);
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_uuids pg_catalog.uuid[];
    v_bad pg_catalog.record;
begin
    perform cortex.check_spawn(
        kind => spawn_jobs.kind, actor => v_actor, params => '{}', debounce_scope => null, run_at => null
    );
    if spawn_jobs.params is null then
        raise exception 'params is null'
            using errcode = '22004', hint = 'Give an array with one JSON object per job.';
    end if;

    -- What an array holds is never compressed, so its size is what it takes.
    select
        g.place,
        g.params
    into v_bad
    from unnest(spawn_jobs.params) with ordinality as g (params, place)
    where g.params is null
        or jsonb_typeof(g.params) <> 'object'
        or pg_column_size(g.params) > 8388600
    order by g.place
    limit 1;

    if found then
        if v_bad.params is null then
            raise exception 'params number % is null', v_bad.place
                using errcode = '22004', hint = 'Give a JSON object; {} for none.';
        end if;
        if jsonb_typeof(v_bad.params) <> 'object' then
            raise exception 'params number % is a JSON %, not an object',
                v_bad.place, jsonb_typeof(v_bad.params)
                using errcode = '22023', hint = 'Wrap it: {"value": ...}.';
        end if;
        raise exception 'params number % holds % bytes',
            v_bad.place, pg_column_size(jsonb_build_array(v_bad.params))
            using errcode = '22023',
            hint = 'At most 8388608 (8 MiB); keep bulk data in a table of its own and pass its key.';
    end if;

    v_uuids := array(
        select gen_random_uuid() as made from generate_series(1, cardinality(spawn_jobs.params))
    );

    -- In their order, as unnest gives them.
    insert into cortex.job (uuid, kind, actor, params, priority, run_at, created_at, updated_at)
    select
        g.uuid,
        spawn_jobs.kind,
        v_actor,
        g.params,
        v_priority,
        v_now,
        v_now,
        v_now
    from unnest(v_uuids, spawn_jobs.params) as g (uuid, params);

    return query select u.uuid from unnest(v_uuids) as u (uuid);
end;
$$;

comment on function cortex.spawn_jobs(text, jsonb[], text, integer) is
'Queues one job for each of these params.';
