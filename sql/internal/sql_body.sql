-- The body of a kind as a statement, to be run by a role with the job's uuid as its parameter.
--
-- Called by   work, when it has claimed a job
-- Returns     the statement; whether it gives a value, as JSON; and the name of a procedure that is to be
--             called outside of any block, so that it can end transactions
-- Raises      what find_body raises; 42704 the kind has no body for that role any more

create or replace function cortex.sql_body(
    kind text,
    role text,
    out statement text,
    out gives_value boolean,
    out commits boolean,
    out called text
)
returns record
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    v_kind cortex.sql_kind;
    v_found pg_catalog.record;
begin
    select k.* into v_kind
    from cortex.sql_kind as k
    where k.kind = sql_body.kind
        and (k.run_as is null or k.run_as = sql_body.role);

    if not found then
        raise exception 'kind % has no body in SQL for role % any more', sql_body.kind, sql_body.role
            using errcode = '42704', hint = 'See cortex.sql_kinds.';
    end if;

    v_found := cortex.find_body(
        schema_name => v_kind.schema_name,
        routine_name => v_kind.routine_name,
        run_as => v_kind.run_as
    );
    called := format('%I.%I', v_kind.schema_name, v_kind.routine_name);
    commits := v_found.is_procedure and coalesce(v_kind.commits, v_found.commits);
    gives_value := not v_found.is_procedure
        and (select p.prorettype from pg_catalog.pg_proc as p where p.oid = v_found.id)
        <> 'pg_catalog.void'::pg_catalog.regtype;
    statement := case
        when v_found.is_procedure then format('call %s($1)', called)
        when gives_value then format('select pg_catalog.to_jsonb(%s($1))', called)
        else format('select %s($1)', called)
    end;
end;
$$;

comment on function cortex.sql_body(text, text) is
'How to run the body of a kind.';
