-- Count one slice of the reports anew: the messages of one severity over the tasks of one corpus and
-- service, at three grains.
--
-- The counts are those of count(distinct task) and count(*) over rollup (category, what). They are
-- taken task by task: within one task each (category, what) is one row, so that distinct tasks
-- become plain rows to count, and the planner may sort within one task at a time.
--
-- Called by   the body of kind populate_report; whoever wants the slice now
-- Returns     rows written; at least 1, since an empty slice has its total row too
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity, 40001 in
--             repeatable read and serializable when the slice was populated meanwhile
-- Locks       the slice, until commit: a second populate of it waits, and so does an invalidation,
--             which therefore is never lost. Readers see the old rows until the commit.

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
    v_log constant pg_catalog.regclass := corpus.severity_log(severity => populate_scope.severity);
    v_lowest constant integer := case populate_scope.severity
        when 'warning' then -2
        when 'error' then -3
        when 'invalid' then -5
        else -4
    end;
    v_highest constant integer := case populate_scope.severity
        when 'info' then -1
        else v_lowest
    end;
    v_rows bigint;
begin
    perform corpus.require_slice(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity
    );
    perform corpus.lock_slice(
        corpus_id => populate_scope.corpus_id,
        service_id => populate_scope.service_id,
        severity => populate_scope.severity
    );

    delete from corpus.report_grain_cache as r
    where r.corpus_id = populate_scope.corpus_id
        and r.service_id = populate_scope.service_id
        and r.severity = populate_scope.severity;

    -- Dynamic: one statement for five log tables, planned for each by its own numbers. The names
    -- sort by collation "C", which is quicker and tells the same names apart.
    execute format(
        $statement$
        with message as (
            select
                l.task_id,
                l.category collate "C" as category,
                l.what collate "C" as what
            from corpus.tasks as t
            join %s as l on l.task_id = t.id
            where t.corpus_id = $1
                and t.service_id = $2
                and t.status between $4 and $5
        ),
        per_task as (
            select
                grouping(m.category, m.what) as rolled_up,
                m.category,
                m.what,
                count(*) as messages
            from message as m
            group by grouping sets (
                (m.task_id, m.category, m.what),
                (m.task_id, m.category),
                (m.task_id)
            )
        ),
        counted as (
            select
                p.rolled_up,
                p.category,
                p.what,
                count(*) as task_count,
                sum(p.messages) as message_count
            from per_task as p
            group by p.rolled_up, p.category, p.what
        )
        insert into corpus.report_grain_cache (
            corpus_id, service_id, severity, grain, category, what,
            task_count, message_count, computed_at
        )
        select
            $1, $2, $3,
            case c.rolled_up when 0 then 'what' when 1 then 'category' else 'total' end::corpus.grain,
            c.category, c.what, c.task_count, c.message_count, $6
        from counted as c
        union all
        select $1, $2, $3, 'total'::corpus.grain, null, null, 0, 0, $6
        where not exists (select from counted)
        $statement$,
        v_log
    )
    using
        populate_scope.corpus_id,
        populate_scope.service_id,
        populate_scope.severity,
        v_lowest,
        v_highest,
        clock_timestamp();

    get diagnostics v_rows = row_count;
    return v_rows;
exception
    when unique_violation then
        raise exception 'slice % % % was populated meanwhile',
            populate_scope.corpus_id, populate_scope.service_id, populate_scope.severity
            using errcode = '40001', hint = 'Try the whole transaction again.';
end;
$$;

comment on function corpus.populate_scope(integer, integer, text) is
'Counts one slice of the reports anew and replaces it in one go; returns the rows written.';
