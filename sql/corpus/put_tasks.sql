-- Put documents on the books as tasks, new ones and ones that are there, and make room for their
-- messages: those of the documents that are there are deleted.
--
-- A status that changes leaves the old one in historical_tasks. The cached reports are left alone:
-- call corpus.invalidate_scope after the messages are in.
--
-- Called by   the import, once per batch
-- Returns     one row per document, in no order
-- Raises      22004 an argument, an entry or a status is null, 22023 arrays of different lengths, a document
--             named twice, an entry that is empty or over 2000 bytes, no such status, corpus or service
-- Locks       the rows of these tasks until commit, in the order of their entries

create or replace function corpus.put_tasks(
    corpus_id integer,
    service_id integer,
    entries text[],
    statuses integer[]
)
returns table (entry text, task_id bigint, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_old bigint[];
begin
    perform corpus.check_documents(
        entries => put_tasks.entries, statuses => put_tasks.statuses
    );
    perform corpus.require_scope(
        corpus_id => put_tasks.corpus_id, service_id => put_tasks.service_id
    );

    select array_agg(l.id)
    into v_old
    from (
        select t.id
        from corpus.tasks as t
        where t.corpus_id = put_tasks.corpus_id
            and t.service_id = put_tasks.service_id
            and t.entry = any(put_tasks.entries)
        order by t.entry
        for update
    ) as l;

    insert into corpus.historical_tasks (task_id, status)
    select
        t.id,
        t.status
    from unnest(put_tasks.entries, put_tasks.statuses) as d (entry, status)
    join corpus.tasks as t
        on t.corpus_id = put_tasks.corpus_id
        and t.service_id = put_tasks.service_id
        and t.entry = d.entry
    where t.status <> d.status;

    return query
    insert into corpus.tasks as t (corpus_id, service_id, entry, status)
    select
        put_tasks.corpus_id,
        put_tasks.service_id,
        d.entry,
        d.status
    from unnest(put_tasks.entries, put_tasks.statuses) as d (entry, status)
    order by d.entry
    on conflict on constraint tasks_entry_key do update
    set status = excluded.status,
        updated_at = clock_timestamp()
    returning t.entry, t.id, t.id <> all(coalesce(v_old, array[]::bigint[]));

    -- After the insert, which may have found a task that another session has just committed.
    v_old := array(
        select t.id
        from corpus.tasks as t
        where t.corpus_id = put_tasks.corpus_id
            and t.service_id = put_tasks.service_id
            and t.entry = any(put_tasks.entries)
    );
    delete from corpus.log_infos as l where l.task_id = any(v_old);
    delete from corpus.log_warnings as l where l.task_id = any(v_old);
    delete from corpus.log_errors as l where l.task_id = any(v_old);
    delete from corpus.log_fatals as l where l.task_id = any(v_old);
    delete from corpus.log_invalids as l where l.task_id = any(v_old);
end;
$$;

comment on function corpus.put_tasks(integer, integer, text[], integer[]) is
'Stores documents with their statuses, new ones and ones that are there, without messages; returns '
'the task of each.';
