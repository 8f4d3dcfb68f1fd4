-- How many tasks a slice has, from which to which; and whether they lie close together.
--
-- Called by   corpus.populate_scope, corpus.begin_run

create or replace function corpus.slice_tasks(
    corpus_id integer,
    service_id integer,
    severity text,
    out tasks bigint,
    out first_task bigint,
    out last_task bigint,
    out dense boolean
)
returns record
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    select
        count(*),
        min(t.id),
        max(t.id)
    into tasks, first_task, last_task
    from corpus.tasks as t
    where t.corpus_id = slice_tasks.corpus_id
        and t.service_id = slice_tasks.service_id
        and t.status between
            (select s.lowest from corpus.severities() as s where s.severity = slice_tasks.severity)
            and (select s.highest from corpus.severities() as s where s.severity = slice_tasks.severity);

    dense := tasks * 8 > last_task - first_task;
end;
$$;

comment on function corpus.slice_tasks(integer, integer, text) is
'How many tasks a slice of the reports has, and where.';
