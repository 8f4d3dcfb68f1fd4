-- Put documents on the books as tasks, new ones and ones that are there, and make room for their
-- messages: those of the documents that are there are deleted.
--
-- A status that changes leaves the old one in historical_tasks. The cached reports are left alone:
-- call corpus.invalidate_scope after the messages are in.
--
-- Its plans are made for each call, and by index: the tables grow under an import, from empty to
-- millions of rows before anything has analyzed them, and a plan for the empty table reads all of it.
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
set plan_cache_mode = 'force_custom_plan'
set enable_seqscan = 'off'
set jit = 'off'
as $$
declare
    v_entries pg_catalog.text[];
    v_ids bigint[];
    v_created boolean[];
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

    if v_old is not null then
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
    end if;

    -- A row version that an insert has made is locked by nobody; one that an update has made is, by
    -- the very statement, which locks what is in its way before it updates it.
    with put as (
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
        returning t.entry, t.id, t.xmax = 0 as created
    )
    select array_agg(p.entry), array_agg(p.id), array_agg(p.created)
    into v_entries, v_ids, v_created
    from put as p;

    -- Among them tasks that another session has committed since the first look.
    select array_agg(p.id)
    into v_old
    from unnest(v_ids, v_created) as p (id, created)
    where not p.created;

    if v_old is not null then
        delete from corpus.log_infos as l where l.task_id = any(v_old);
        delete from corpus.log_warnings as l where l.task_id = any(v_old);
        delete from corpus.log_errors as l where l.task_id = any(v_old);
        delete from corpus.log_fatals as l where l.task_id = any(v_old);
        delete from corpus.log_invalids as l where l.task_id = any(v_old);
    end if;

    return query
    select
        p.entry,
        p.id,
        p.created
    from unnest(v_entries, v_ids, v_created) as p (entry, id, created);
end;
$$;

comment on function corpus.put_tasks(integer, integer, text[], integer[]) is
'Stores documents with their statuses, new ones and ones that are there, without messages; returns '
'the task of each.';
