-- Give a kind a body inside the database: a procedure or function that takes the job's uuid.
--
-- There is a second spelling for whoever has a regprocedure; what is only quoted is a text to PostgreSQL. It is
-- the one routine of two, since neither type is cast to the other by itself.
--
-- Called by   an operator, once for each kind; again to change it, with null to take it away
-- Returns     nothing. What the function returns is the job's result, as JSON; a procedure may write its own
--             end with finish_job
-- Raises      22004 kind, or a regprocedure, is null, 22023 not a kind, or not the name of a routine; 42883 no such routine, 42809
--             one that is no body, 42704 no such role, 42501 the login can't act as that role, the role may not
--             call it, or somebody else decides what it does
-- Warns       where the upkeep, as the owner of this schema, could not end a body of that role that hangs

create or replace function cortex.register_sql_kind(
    kind text,
    procedure text,
    run_as text default null,
    commits boolean default null
)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_name constant pg_catalog.text := regexp_replace(
        register_sql_kind.procedure, '[[:space:]]*[(][[:space:]]*(pg_catalog[.])?uuid[[:space:]]*[)][[:space:]]*$', '', 'i'
    );
    v_parts pg_catalog.text[];
begin
    if v_name is not null then
        begin
            v_parts := parse_ident(v_name);
        exception when invalid_parameter_value then
            v_parts := null;
        end;
        if cardinality(v_parts) is distinct from 2 then
            raise exception '% does not name a routine', left(register_sql_kind.procedure, 200)
                using errcode = '22023', hint = 'Say schema.name or schema.name(uuid).';
        end if;
    end if;

    perform cortex.put_sql_kind(
        kind => register_sql_kind.kind,
        schema_name => v_parts[1],
        routine_name => v_parts[2],
        run_as => coalesce(register_sql_kind.run_as, current_user::pg_catalog.text),
        commits => register_sql_kind.commits
    );
end;
$$;

comment on function cortex.register_sql_kind(text, text, text, boolean) is
'Says which procedure or function is the body of a kind inside the database; null: none.';

create or replace function cortex.register_sql_kind(
    kind text,
    procedure regprocedure,
    run_as text default null,
    commits boolean default null
)
returns void
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_name pg_catalog.text;
begin
    if register_sql_kind.procedure is null then
        raise exception 'procedure is null'
            using errcode = '22004', hint = 'A null of type text takes the body away.';
    end if;

    select format('%I.%I', n.nspname, p.proname)
    into v_name
    from pg_catalog.pg_proc as p
    join pg_catalog.pg_namespace as n on n.oid = p.pronamespace
    where p.oid = register_sql_kind.procedure
        and p.pronargs = 1
        and p.proargtypes[0] = 'pg_catalog.uuid'::pg_catalog.regtype;

    if v_name is null then
        raise exception '% is no body for jobs', register_sql_kind.procedure
            using errcode = '42809', hint = 'A body takes one argument, the uuid of the job.';
    end if;

    perform cortex.register_sql_kind(
        kind => register_sql_kind.kind,
        procedure => v_name,
        run_as => register_sql_kind.run_as,
        commits => register_sql_kind.commits
    );
end;
$$;

comment on function cortex.register_sql_kind(text, regprocedure, text, boolean) is
'The same, for whoever has the routine as a regprocedure.';
