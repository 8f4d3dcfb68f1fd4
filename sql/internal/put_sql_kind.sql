-- Note which routine is the body of a kind, and for which role.
--
-- Open to whoever may call register_sql_kind, which runs as its caller to know who that is. The role that is
-- given is no secret key: only one whose rights the login has is taken.
--
-- Called by   register_sql_kind
-- Raises      22004, 22023 not a kind; 42501 the login isn't a member of that role; what find_body raises
-- Warns       where the owner of this schema may not end sessions of that role

create or replace function cortex.put_sql_kind(
    kind text,
    schema_name text,
    routine_name text,
    run_as text,
    commits boolean
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    perform cortex.check_spawn(
        kind => put_sql_kind.kind,
        actor => null,
        params => null,
        debounce_scope => null,
        run_at => null
    );

    if put_sql_kind.routine_name is null then
        delete from cortex.sql_kind as k where k.kind = put_sql_kind.kind;
        return;
    end if;

    if not exists (select from pg_catalog.pg_roles as r where r.rolname = put_sql_kind.run_as) then
        raise exception 'there is no role %', put_sql_kind.run_as
            using errcode = '42704', hint = 'Name the role that is to run it.';
    end if;
    if not pg_has_role(session_user, put_sql_kind.run_as::pg_catalog.name, 'member') then
        raise exception 'role % is not a member of %', session_user, put_sql_kind.run_as
            using errcode = '42501',
            hint = 'A body can be registered for a role that the login may act as.';
    end if;
    perform cortex.find_body(
        schema_name => put_sql_kind.schema_name,
        routine_name => put_sql_kind.routine_name,
        run_as => put_sql_kind.run_as
    );

    -- What the upkeep needs to end a session of that role: to signal it, and to see when it began.
    if not pg_has_role(put_sql_kind.run_as::pg_catalog.name, 'usage')
        and not (
            pg_has_role('pg_signal_backend', 'usage')
            and pg_has_role('pg_read_all_stats', 'usage')
            and not (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = put_sql_kind.run_as)
        )
    then
        raise warning 'role % may not end sessions of role %: a body that hangs would be interrupted, '
            'but its statement would go on', current_user, put_sql_kind.run_as
            using hint = format('grant %I to %I;', put_sql_kind.run_as, current_user);
    end if;

    insert into cortex.sql_kind as k (kind, schema_name, routine_name, run_as, commits)
    values (
        put_sql_kind.kind,
        put_sql_kind.schema_name,
        put_sql_kind.routine_name,
        put_sql_kind.run_as,
        put_sql_kind.commits
    )
    on conflict on constraint sql_kind_pkey do update
    set schema_name = excluded.schema_name,
        routine_name = excluded.routine_name,
        run_as = excluded.run_as,
        commits = excluded.commits,
        registered_at = clock_timestamp(),
        registered_by = session_user;
end;
$$;

comment on function cortex.put_sql_kind(text, text, text, text, boolean) is
'Notes the routine that is the body of a kind, or that it has none.';
