-- Note which tasks left a slice or came into one: by their status, their corpus, their service, or because
-- they were deleted. A new task has no messages yet, and counts for nothing.
--
-- Called by   the triggers of corpus.tasks, after each statement
-- Locks       nothing that another session could want

create or replace function corpus.note_tasks()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if tg_op <> 'TRUNCATE'
        and (exists (select from corpus.slice) or exists (select from corpus.run))
    then
        if tg_op = 'DELETE' then
            insert into corpus.change (severity, task_id, corpus_id, service_id)
            select
                s.severity,
                o.id,
                o.corpus_id,
                o.service_id
            from old_rows as o
            join corpus.severities() as s on o.status between s.lowest and s.highest;
        else
            with before as (
                select
                    s.severity,
                    o.id,
                    o.corpus_id,
                    o.service_id
                from old_rows as o
                join corpus.severities() as s on o.status between s.lowest and s.highest
            ),
            now as (
                select
                    s.severity,
                    n.id,
                    n.corpus_id,
                    n.service_id
                from new_rows as n
                join corpus.severities() as s on n.status between s.lowest and s.highest
            )
            insert into corpus.change (severity, task_id, corpus_id, service_id)
            (select * from before except select * from now)
            union
            (select * from now except select * from before);
        end if;
        return null;
    end if;

    if tg_op = 'DELETE' then
        if not exists (select from old_rows) then
            return null;
        end if;
    elsif tg_op = 'UPDATE' then
        if not exists (select from new_rows) then
            return null;
        end if;
    end if;
    perform corpus.note_all(severity => s.severity)
    from corpus.severities() as s;
    return null;
end;
$$;

comment on function corpus.note_tasks() is
'Trigger: notes which tasks left a slice of the reports or came into one.';

create or replace trigger tasks_note_delete
after delete on corpus.tasks
referencing old table as old_rows
for each statement
execute function corpus.note_tasks();

create or replace trigger tasks_note_update
after update on corpus.tasks
referencing old table as old_rows new table as new_rows
for each statement
execute function corpus.note_tasks();

create or replace trigger tasks_note_truncate
after truncate on corpus.tasks
for each statement
execute function corpus.note_tasks();
