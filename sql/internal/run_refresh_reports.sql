-- The body of kind refresh_reports in SQL.
--
-- Called by   work
-- Returns     the job's result

create or replace function cortex.run_refresh_reports(job uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
begin
    perform corpus.invalidate_all();
    perform corpus.clear_runs();
    perform cortex.step(
        job => run_refresh_reports.job, current => 1, total => 1, message => 'report cache invalidated'
    );
    return jsonb_build_object('status', 'cache-invalidated');
end;
$$;

comment on function cortex.run_refresh_reports(uuid) is
'Body of kind refresh_reports: drops all cached reports.';
