-- Note that anything may have changed for reports of a severity; once in a transaction.
--
-- Called by   the triggers, where no slice of that severity has been counted, or a table was emptied
-- Locks       nothing that another session could want

create or replace function corpus.note_all(severity text)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    insert into corpus.change (severity)
    select note_all.severity
    where not exists (
        select
        from corpus.change as c
        where c.severity = note_all.severity
            and c.txid = pg_current_xact_id()
            and c.task_id is null
            and c.corpus_id is null
    );
end;
$$;

comment on function corpus.note_all(text) is
'Notes that anything may have changed for reports of a severity.';
