-- Refuse what can't become a job, before anything is written.
--
-- Raises      22004 kind is null, 22023 anything else that is out of bounds

create or replace function cortex.check_spawn(
    kind text,
    actor text,
    params jsonb,
    debounce_scope jsonb,
    run_at timestamptz
)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
    if check_spawn.kind is null then
        raise exception 'kind is null'
            using errcode = '22004', hint = 'Name the kind of job, for example ''corpus_import''.';
    end if;
    if check_spawn.kind !~ '[^[:space:]]' then
        raise exception 'kind is empty'
            using errcode = '22023', hint = 'Name the kind of job, for example ''corpus_import''.';
    end if;
    if length(check_spawn.kind) > 200 then
        raise exception 'kind is % characters long', length(check_spawn.kind)
            using errcode = '22023', hint = 'At most 200 characters.';
    end if;
    if length(check_spawn.actor) > 200 then
        raise exception 'actor is % characters long', length(check_spawn.actor)
            using errcode = '22023', hint = 'At most 200 characters.';
    end if;
    if jsonb_typeof(check_spawn.params) <> 'object' then
        raise exception 'params is a JSON %, not an object', jsonb_typeof(check_spawn.params)
            using errcode = '22023', hint = 'Wrap it: {"value": ...}.';
    end if;
    -- Wrapped, because a value from a table may be compressed, and its size then says nothing.
    if pg_column_size(jsonb_build_array(check_spawn.params)) > 8388608 then
        raise exception 'params holds % bytes',
            pg_column_size(jsonb_build_array(check_spawn.params))
            using errcode = '22023',
            hint = 'At most 8388608 (8 MiB); keep bulk data in a table of its own and pass its key.';
    end if;
    if jsonb_typeof(check_spawn.debounce_scope) <> 'object' then
        raise exception 'debounce_scope is a JSON %, not an object',
            jsonb_typeof(check_spawn.debounce_scope)
            using errcode = '22023',
            hint = 'SQL null for no debounce, {} for one per kind, or an object of what tells scopes apart.';
    end if;
    if pg_column_size(jsonb_build_array(check_spawn.debounce_scope)) > 1500 then
        raise exception 'debounce_scope holds % bytes',
            pg_column_size(jsonb_build_array(check_spawn.debounce_scope))
            using errcode = '22023', hint = 'At most 1500; a digest of a long key does as well.';
    end if;
    if not isfinite(check_spawn.run_at) then
        raise exception 'run_at is %', check_spawn.run_at
            using errcode = '22023', hint = 'Give a point in time; leave it out for now.';
    end if;
end;
$$;

comment on function cortex.check_spawn(text, text, jsonb, jsonb, timestamptz) is
'Raises unless these arguments make a job.';
