create function public.tidy(job uuid) returns jsonb language sql as 'select ''{"tidied": 3}''::jsonb';
-- Example
select cortex.register_sql_kind('tidy', 'public.tidy(uuid)');
select kind, procedure, commits from cortex.sql_kinds where kind = 'tidy';
select cortex.register_sql_kind('tidy', 'public.swep');
