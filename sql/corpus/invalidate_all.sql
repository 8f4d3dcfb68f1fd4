-- Forget all reports; each is counted anew when somebody asks for it.
--
-- Called by   the body of kind refresh_reports
-- Returns     rows dropped from the cache
-- Locks       the whole cache until commit. Waits for the populates that are under way.

create or replace function corpus.invalidate_all()
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_rows bigint;
begin
    perform pg_advisory_xact_lock(hashtextextended('corpus.report_grain_cache', 0));

    delete from corpus.report_grain_cache;

    get diagnostics v_rows = row_count;
    return v_rows;
end;
$$;

comment on function corpus.invalidate_all() is
'Drops all cached reports; returns how many rows.';
