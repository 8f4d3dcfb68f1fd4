-- Count a slice from what is kept of its tasks, if that can be done.
--
-- Called by   corpus.populate_scope, the bodies of kind populate_report
-- Returns     rows of the slice; null: nothing is kept, or too much changed, so that all must be counted
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity
-- Locks       the slice, until commit

create or replace function corpus.refresh_slice(corpus_id integer, service_id integer, severity text)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_run corpus.run;
    v_rows bigint;
begin
    perform corpus.require_slice(
        corpus_id => refresh_slice.corpus_id,
        service_id => refresh_slice.service_id,
        severity => refresh_slice.severity
    );
    perform corpus.lock_slice(
        corpus_id => refresh_slice.corpus_id,
        service_id => refresh_slice.service_id,
        severity => refresh_slice.severity
    );

    select r.* into v_run
    from corpus.run as r
    where r.corpus_id = refresh_slice.corpus_id
        and r.service_id = refresh_slice.service_id
        and r.severity = refresh_slice.severity
        and r.state = 'kept'
    for update;

    if not found or not corpus.apply_changes(run => v_run.id) then
        return null;
    end if;

    v_rows := corpus.show_counts(run => v_run.id);
    perform corpus.put_seen(
        corpus_id => r.corpus_id,
        service_id => r.service_id,
        severity => r.severity,
        seen => r.seen,
        seen_by => r.seen_by,
        seen_upto => r.seen_upto,
        cluster => r.cluster
    )
    from corpus.run as r
    where r.id = v_run.id;
    return v_rows;
end;
$$;

comment on function corpus.refresh_slice(integer, integer, text) is
'Counts a slice of the reports from what is kept of its tasks; returns its rows, or null if it can''t.';
