-- Read one slice of the reports: the total, then the categories, each followed by what is in it,
-- those that touch most tasks first.
--
-- Returns     no row at all when the slice was never populated or has been invalidated since; stale, in every row
--             alike: data changed since it was counted
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity

create or replace function corpus.report_slice(
    corpus_id integer,
    service_id integer,
    severity text
)
returns table (
    grain corpus.grain,
    category text,
    what text,
    task_count bigint,
    message_count bigint,
    computed_at timestamptz,
    stale boolean
)
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    v_stale boolean;
begin
    perform corpus.require_slice(
        corpus_id => report_slice.corpus_id,
        service_id => report_slice.service_id,
        severity => report_slice.severity
    );

    v_stale := corpus.slice_is_stale(
        corpus_id => report_slice.corpus_id,
        service_id => report_slice.service_id,
        severity => report_slice.severity
    );

    return query
    select
        s.grain,
        s.category,
        s.what,
        s.task_count,
        s.message_count,
        s.computed_at,
        v_stale
    from (
        select
            r.*,
            max(r.task_count) filter (where r.grain = 'category') over w as category_tasks,
            max(r.message_count) filter (where r.grain = 'category') over w as category_messages
        from corpus.report_grain_cache as r
        where r.corpus_id = report_slice.corpus_id
            and r.service_id = report_slice.service_id
            and r.severity = report_slice.severity
        window w as (partition by r.grain = 'total', r.category)
    ) as s
    order by
        s.grain <> 'total',
        s.category_tasks desc,
        s.category_messages desc,
        s.category nulls last,
        s.grain,
        s.task_count desc,
        s.message_count desc,
        s.what nulls last;
end;
$$;

comment on function corpus.report_slice(integer, integer, text) is
'The cached counts of one corpus, service and severity: total, categories, and what is in each; '
'empty when they were not populated.';
