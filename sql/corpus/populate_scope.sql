-- Count one slice of the reports anew: the messages of one severity over the tasks of one corpus and
-- service, at three grains.
--
-- Where each task's grains are kept, only the tasks that changed are looked at; else all messages are counted
-- in one statement. The counts are the same.
--
-- Called by   whoever wants the slice now; the bodies of kind populate_report count a large one in ranges instead
-- Returns     rows of the slice; at least 1, since an empty slice has its total row too
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity, 40001 in
--             repeatable read and serializable when the slice was populated meanwhile
-- Locks       the slice, until commit: a second populate of it waits. An invalidation does not; it marks the
--             slice. Readers see the old rows until the commit.

create or replace function corpus.populate_scope(
    corpus_id integer,
    service_id integer,
    severity text
)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_seen pg_catalog.record;
    v_tasks pg_catalog.record;
    v_now pg_catalog.timestamptz;
    v_rows bigint;
begin
    v_rows := corpus.refresh_slice(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity
    );
    if v_rows is not null then
        return v_rows;
    end if;

    select s.* into v_seen
    from corpus.seen_now(severity => populate_scope.severity) as s;
    select s.* into v_tasks
    from corpus.slice_tasks(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity
    ) as s;
    v_now := clock_timestamp();

    delete from corpus.report_grain_cache as r
    where r.corpus_id = populate_scope.corpus_id
        and r.service_id = populate_scope.service_id
        and r.severity = populate_scope.severity;

    insert into corpus.report_grain_cache (
        corpus_id, service_id, severity, grain, category, what,
        task_count, message_count, computed_at
    )
    select
        populate_scope.corpus_id, populate_scope.service_id, populate_scope.severity,
        c.grain, c.category, c.what, c.task_count, c.message_count, v_now
    from corpus.count_tasks(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity,
        first_task => v_tasks.first_task,
        last_task => v_tasks.last_task,
        dense => v_tasks.dense
    ) as c;
    get diagnostics v_rows = row_count;

    if v_rows = 0 then
        insert into corpus.report_grain_cache (
            corpus_id, service_id, severity, grain, task_count, message_count, computed_at
        )
        values (
            populate_scope.corpus_id, populate_scope.service_id, populate_scope.severity,
            'total', 0, 0, v_now
        );
        v_rows := 1;
    end if;

    perform corpus.put_seen(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity,
        seen => v_seen.seen,
        seen_by => v_seen.seen_by,
        seen_upto => v_seen.seen_upto,
        cluster => v_seen.cluster
    );
    return v_rows;
exception
    when unique_violation then
        raise exception 'slice % % % was populated meanwhile',
            populate_scope.corpus_id, populate_scope.service_id, populate_scope.severity
            using errcode = '40001', hint = 'Try the whole transaction again.';
end;
$$;

comment on function corpus.populate_scope(integer, integer, text) is
'Counts one slice of the reports anew and replaces it in one go; returns the rows of it.';
