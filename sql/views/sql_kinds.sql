-- Which kinds have a body inside the database.

create or replace view cortex.sql_kinds as
select
    k.kind,
    format('%I.%I(uuid)', k.schema_name, k.routine_name) as procedure,
    k.run_as,
    k.commits,
    k.registered_at,
    k.registered_by
from cortex.sql_kind as k;

comment on view cortex.sql_kinds is
'Kinds whose jobs cortex.work runs inside the database.';
comment on column cortex.sql_kinds.procedure is
'What is called with the uuid of the job; looked up at each run.';
