-- What can be seen of the changes to the tasks and messages of a severity at this moment.
--
-- Called by   corpus.populate_scope, corpus.begin_run; before the statement that counts, so that what it
--             sees beyond this is counted again, which harms nothing

create or replace function corpus.seen_now(
    severity text,
    out seen pg_snapshot,
    out seen_by xid8,
    out seen_upto bigint,
    out cluster bigint
)
returns record
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    seen := pg_current_snapshot();
    seen_by := pg_current_xact_id();
    cluster := (select s.system_identifier from pg_control_system() as s);
    select coalesce(max(c.id), 0)
    into seen_upto
    from corpus.change as c
    where c.severity = seen_now.severity
        and c.txid = seen_by;
end;
$$;

comment on function corpus.seen_now(text) is
'What can be seen of the changes at this moment.';
