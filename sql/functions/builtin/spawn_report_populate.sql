-- Ask for one slice of the reports to be counted: one corpus, service and severity; one such job per
-- slice at a time.
--
-- Whether the corpus and the service exist is looked at when it runs, so that it can be asked for
-- before they do.
--
-- Called by   anybody who wants it done; part of the caller's transaction
-- Returns     the job's uuid, and whether it was created now; false: this slice is queued or running
-- Raises      22004 an argument is null, 22023 no such severity, 0A000 schema corpus not installed

create or replace function cortex.spawn_report_populate(
    corpus_id integer,
    service_id integer,
    severity text,
    actor text default ''
)
returns table (uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_slice constant pg_catalog.jsonb := cortex.report_slice(
        corpus_id => spawn_report_populate.corpus_id,
        service_id => spawn_report_populate.service_id,
        severity => spawn_report_populate.severity
    );
begin
    perform cortex.require_reports();

    return query
    select
        s.uuid,
        s.created
    from cortex.spawn_job(
        kind => 'populate_report',
        actor => spawn_report_populate.actor,
        params => v_slice,
        debounce_scope => v_slice
    ) as s;
end;
$$;

comment on function cortex.spawn_report_populate(integer, integer, text, text) is
'Queues the count of one slice of the reports: one corpus, service and severity.';
