-- Enter a process that will run jobs, and take its lease in the calling session.
--
-- Called by   a runner, once, on a connection that it keeps for this alone
-- Returns     the runner's handle
-- Raises      22004 a null, 22023 a name or host that is too long
-- Locks       a session-level advisory lock, until the session ends or retire_runner

create or replace function cortex.register_runner(name text, host text, pid integer)
returns uuid
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_runner pg_catalog.uuid;
    v_lease integer;
begin
    if register_runner.name is null or register_runner.host is null or register_runner.pid is null then
        raise exception 'name, host and pid are all needed, one is null'
            using errcode = '22004', hint = 'An operator must be able to find the process.';
    end if;
    if register_runner.name !~ '[^[:space:]]' or length(register_runner.name) > 200 then
        raise exception 'the name of a runner is % characters long', length(register_runner.name)
            using errcode = '22023', hint = '1 to 200 characters, not all blank.';
    end if;
    if length(register_runner.host) > 255 then
        raise exception 'the host of a runner is % characters long', length(register_runner.host)
            using errcode = '22023', hint = 'At most 255 characters.';
    end if;

    insert into cortex.runner (name, host, pid, backend_pid)
    values (register_runner.name, register_runner.host, register_runner.pid, pg_backend_pid())
    returning runner.uuid, runner.lease into v_runner, v_lease;

    -- The number is new, unless the numbers have begun again, or a stranger uses ours: then take the next.
    while not pg_try_advisory_lock(cortex.lock_space(), v_lease) loop
        update cortex.runner as r
        set lease = default
        where r.uuid = v_runner
        returning r.lease into v_lease;
    end loop;

    perform cortex.hold_session();

    return v_runner;
end;
$$;

comment on function cortex.register_runner(text, text, integer) is
'Enters a process that runs jobs; the calling session holds its lease.';
