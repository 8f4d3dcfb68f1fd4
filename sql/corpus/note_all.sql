-- Note that anything may have changed for reports of a severity; once in a transaction, and once more after a
-- count in the same transaction, which has seen the first.
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
            and not exists (
                select
                from corpus.slice as s
                where s.severity = c.severity
                    and s.seen_by = c.txid
                    and s.seen_upto >= c.id
            )
            and not exists (
                select
                from corpus.run as r
                where r.severity = c.severity
                    and r.seen_by = c.txid
                    and r.seen_upto >= c.id
            )
    );
end;
$$;

comment on function corpus.note_all(text) is
'Notes that anything may have changed for reports of a severity.';
