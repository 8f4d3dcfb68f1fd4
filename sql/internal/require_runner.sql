-- Say clearly that a runner's handle is no good (any more).
--
-- Raises      22004 null, JC102 no such runner or retired

create or replace function cortex.require_runner(runner uuid)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_retired pg_catalog.timestamptz;
begin
    if require_runner.runner is null then
        raise exception 'runner is null'
            using errcode = '22004', hint = 'Give the uuid that register_runner returned.';
    end if;

    select r.retired_at into v_retired
    from cortex.runner as r
    where r.uuid = require_runner.runner;

    if not found then
        raise exception 'no such runner: %', require_runner.runner
            using errcode = 'JC102', hint = 'Call register_runner first.';
    end if;
    if v_retired is not null then
        raise exception 'runner % has retired', require_runner.runner
            using errcode = 'JC102', hint = 'Register a new one.';
    end if;
end;
$$;

comment on function cortex.require_runner(uuid) is
'Raises unless there is such a runner that has not retired.';
