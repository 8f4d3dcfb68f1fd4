-- The tables that maintenance works on when nobody names any: those that imports and reruns churn.
--
-- Called by   spawn_reindex, spawn_analyze, through resolve_tables

create or replace function cortex.maintenance_tables()
returns text[]
language sql
immutable
parallel safe
set search_path = ''
as $$
    select array[
        'corpus.tasks',
        'corpus.log_infos',
        'corpus.log_warnings',
        'corpus.log_errors',
        'corpus.log_fatals',
        'corpus.log_invalids',
        'corpus.historical_tasks'
    ];
$$;

comment on function cortex.maintenance_tables() is
'The tables that reindex and analyze take when none are named.';
