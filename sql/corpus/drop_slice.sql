-- Drop the cached rows of one slice, or mark it where somebody is counting it at this moment.
--
-- Called by   corpus.invalidate_scope, corpus.invalidate_all
-- Returns     rows dropped
-- Locks       the slice until commit, where it can be had at once

create or replace function corpus.drop_slice(corpus_id integer, service_id integer, severity text)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_free boolean;
    v_rows bigint;
begin
    v_free := pg_try_advisory_xact_lock(
        hashtextextended(
            format(
                'corpus.report_grain_cache %s %s %s',
                drop_slice.corpus_id, drop_slice.service_id, drop_slice.severity
            ),
            0
        )
    );

    -- Whatever count is under way has not seen this, and will be stale.
    if not v_free or corpus.is_watched(severity => drop_slice.severity) then
        insert into corpus.change (severity, corpus_id, service_id)
        values (drop_slice.severity, drop_slice.corpus_id, drop_slice.service_id);
    end if;
    if not v_free then
        return 0;
    end if;

    delete from corpus.report_grain_cache as r
    where r.corpus_id = drop_slice.corpus_id
        and r.service_id = drop_slice.service_id
        and r.severity = drop_slice.severity;
    get diagnostics v_rows = row_count;

    delete from corpus.slice as s
    where s.corpus_id = drop_slice.corpus_id
        and s.service_id = drop_slice.service_id
        and s.severity = drop_slice.severity;
    return v_rows;
end;
$$;

comment on function corpus.drop_slice(integer, integer, text) is
'Drops the cached rows of one slice of the reports; returns how many.';
