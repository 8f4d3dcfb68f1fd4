-- The kinds that a role may run inside the database and of which a job is ready.
--
-- Called by   work, which runs as its caller

create or replace function cortex.kinds_to_work(role text)
returns text[]
language sql
stable
security definer
set search_path = ''
as $$
    select coalesce(array_agg(k.kind order by k.kind), '{}')
    from cortex.sql_kind as k
    where (k.run_as is null or k.run_as = kinds_to_work.role)
        and exists (
            select
            from cortex.job as j
            where j.status = 'queued'
                and j.runner is null
                and j.run_at <= cortex.clock()
                and j.kind = k.kind
        );
$$;

comment on function cortex.kinds_to_work(text) is
'Kinds with a body in SQL that this role may run, and that wait.';
