-- Which tasks each severity takes, by their status.
--
-- Called by   whatever counts or notes changes

create or replace function corpus.severities()
returns table (severity text, lowest integer, highest integer)
language sql
immutable
set search_path = ''
as $$
    values
    ('error', -3, -3),
    ('fatal', -4, -4),
    ('info', -4, -1),
    ('invalid', -5, -5),
    ('warning', -2, -2)
$$;

comment on function corpus.severities() is
'The severities and the statuses of the tasks that each takes.';
