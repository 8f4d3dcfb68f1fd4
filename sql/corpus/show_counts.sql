-- Make the cached rows of a slice equal to given sums: those of the parts of a run, or those that it kept.
--
-- Called by   corpus.finish_run, corpus.populate_scope; the slice is locked
-- Returns     the rows that it has then
-- Raises      40001 in repeatable read and serializable when the slice was populated meanwhile

create or replace function corpus.show_counts(run integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
set enable_nestloop = off
set enable_mergejoin = off
set work_mem = '32MB'
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    v_run corpus.run;
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_rows bigint;
begin
    select r.* into v_run
    from corpus.run as r
    where r.id = show_counts.run;

    -- Most rows stay: they are changed in place, which spares their keys and the indexes.
    update corpus.report_grain_cache as r
    set task_count = k.task_count,
        message_count = k.message_count,
        computed_at = v_now
    from corpus.kept_count as k
    where k.run = v_run.id
        and (k.task_count > 0 or k.grain = 'total')
        and r.corpus_id = v_run.corpus_id
        and r.service_id = v_run.service_id
        and r.severity = v_run.severity
        and r.grain = k.grain
        and (r.category is null) = (k.category is null)
        and coalesce(r.category, '') = coalesce(k.category, '')
        and (r.what is null) = (k.what is null)
        and coalesce(r.what, '') = coalesce(k.what, '');

    delete from corpus.report_grain_cache as r
    where r.corpus_id = v_run.corpus_id
        and r.service_id = v_run.service_id
        and r.severity = v_run.severity
        and r.computed_at <> v_now;

    insert into corpus.report_grain_cache (
        corpus_id, service_id, severity, grain, category, what,
        task_count, message_count, computed_at
    )
    select
        v_run.corpus_id, v_run.service_id, v_run.severity, k.grain, k.category, k.what,
        k.task_count, k.message_count, v_now
    from corpus.kept_count as k
    where k.run = v_run.id
        and (k.task_count > 0 or k.grain = 'total')
        and not exists (
            select
            from corpus.report_grain_cache as r
            where r.corpus_id = v_run.corpus_id
                and r.service_id = v_run.service_id
                and r.severity = v_run.severity
                and r.grain = k.grain
                and (r.category is null) = (k.category is null)
                and coalesce(r.category, '') = coalesce(k.category, '')
                and (r.what is null) = (k.what is null)
                and coalesce(r.what, '') = coalesce(k.what, '')
        );

    select count(*)
    into v_rows
    from corpus.report_grain_cache as r
    where r.corpus_id = v_run.corpus_id
        and r.service_id = v_run.service_id
        and r.severity = v_run.severity;
    return v_rows;
exception
    when unique_violation then
        raise exception 'slice % % % was populated meanwhile',
            v_run.corpus_id, v_run.service_id, v_run.severity
            using errcode = '40001', hint = 'Try the whole transaction again.';
end;
$$;

comment on function corpus.show_counts(integer) is
'Makes the cached rows of a slice those of a run; returns how many.';
