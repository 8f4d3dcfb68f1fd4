-- End a session's statement, or the session, if it is still the one that was meant.
--
-- Called by   cancel_job, interrupt_jobs, end_backends
-- Returns     whether a signal was sent; with a warning where the owner of this schema may not send it, or
--             may not see whether the session is the one that was meant

create or replace function cortex.signal_backend(
    pid integer,
    backend_start timestamptz,
    terminate boolean
)
returns boolean
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_found boolean;
    v_start pg_catalog.timestamptz;
begin
    if signal_backend.pid is null or signal_backend.pid = pg_backend_pid() then
        return false;
    end if;

    select
        true,
        a.backend_start
    into v_found, v_start
    from pg_catalog.pg_stat_activity as a
    where a.pid = signal_backend.pid;

    if v_found and v_start is null then
        raise exception using errcode = 'insufficient_privilege';
    end if;
    -- A pid is used again; the pair is not.
    if v_start is distinct from signal_backend.backend_start then
        return false;
    end if;

    if signal_backend.terminate then
        return pg_terminate_backend(signal_backend.pid);
    end if;
    return pg_cancel_backend(signal_backend.pid);
exception when insufficient_privilege then
    raise warning 'role % may not end session %', current_user, signal_backend.pid
        using hint = format('grant pg_signal_backend, pg_read_all_stats to %I;', current_user);
    return false;
end;
$$;

comment on function cortex.signal_backend(integer, timestamptz, boolean) is
'Cancels the statement of a session, or ends it, unless its pid is somebody else''s by now.';
