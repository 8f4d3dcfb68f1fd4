-- Find the routine that is the body of a kind, and see that a role may run it without running what it does
-- not trust.
--
-- Whoever owns a routine decides what it does, at any time. So its owner must be the role that runs it, a
-- role whose rights that one has, a superuser, or the owner of this schema, whose code it calls anyway. A
-- superuser has everybody's rights and must not lend them: it runs only its own and other superusers'.
--
-- Called by   put_sql_kind, sql_body
-- Returns     its number in the catalogue, and whether a transaction can't be ended in it
-- Raises      42883 no such routine, 42809 one that is no body, 42704 no such role, 42501 the role may not
--             call it, or somebody else decides what it does

create or replace function cortex.find_body(
    schema_name text,
    routine_name text,
    run_as text,
    out id oid,
    out is_procedure boolean,
    out commits boolean
)
returns record
language plpgsql
stable
set search_path = ''
as $$
declare
    v_called constant pg_catalog.text :=
        format('%I.%I(uuid)', find_body.schema_name, find_body.routine_name);
    v_proc pg_catalog.pg_proc;
    v_role pg_catalog.pg_roles;
    v_owner pg_catalog.pg_roles;
begin
    select p.* into v_proc
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where n.nspname = find_body.schema_name
        and p.proname = find_body.routine_name
        and p.pronargs = 1
        and p.proargtypes[0] = 'pg_catalog.uuid'::pg_catalog.regtype;

    if not found then
        raise exception 'there is no procedure or function %', v_called
            using errcode = '42883',
            hint = 'A body takes one argument, the uuid of the job.';
    end if;
    if v_proc.prokind not in ('f', 'p')
        or v_proc.proretset
        or (v_proc.prokind = 'p' and v_proc.proargmodes is not null)
    then
        raise exception '% is no body for jobs', v_called
            using errcode = '42809',
            hint = 'A body is a procedure without output arguments, or a function that returns one value.';
    end if;

    if find_body.run_as is not null then
        select r.* into v_role from pg_catalog.pg_roles as r where r.rolname = find_body.run_as;
        if not found then
            raise exception 'there is no role %', find_body.run_as
                using errcode = '42704', hint = 'Register the kind again, for a role that there is.';
        end if;
        if not has_schema_privilege(v_role.oid, v_proc.pronamespace, 'usage')
            or not has_function_privilege(v_role.oid, v_proc.oid, 'execute')
        then
            raise exception 'role % may not call %', find_body.run_as, v_called
                using errcode = '42501',
                hint = format(
                    'grant usage on schema %I to %I; grant execute on routine %s to %I;',
                    find_body.schema_name, find_body.run_as, v_called, find_body.run_as
                );
        end if;

        select r.* into v_owner from pg_catalog.pg_roles as r where r.oid = v_proc.proowner;
        if not (
            v_owner.rolsuper
            or v_owner.oid = v_role.oid
            or v_owner.oid = (
                select n.nspowner from pg_catalog.pg_namespace as n where n.nspname = 'cortex'
            )
            or (not v_role.rolsuper and pg_has_role(v_role.oid, v_owner.oid, 'usage'))
        )
        then
            raise exception '% belongs to role %, whose code role % does not run',
                v_called, v_owner.rolname, find_body.run_as
                using errcode = '42501',
                hint = format(
                    'Register it with run_as => %L, or give it to %I.', v_owner.rolname, find_body.run_as
                );
        end if;
    end if;

    id := v_proc.oid;
    is_procedure := v_proc.prokind = 'p';
    -- Where the rights or a setting are the routine's own, no transaction can be ended.
    commits := is_procedure
        and not v_proc.prosecdef
        and v_proc.proconfig is null
        and v_proc.prosrc ~* '(^|[^[:alnum:]_])(commit|rollback)([^[:alnum:]_]|$)';
end;
$$;

comment on function cortex.find_body(text, text, text) is
'The routine that is a body, if that role may and should run it.';
