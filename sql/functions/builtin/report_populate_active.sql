-- Whether somebody is counting this slice of the reports already, or about to.
--
-- Called by   whoever shows reports, before it asks for a count
-- Returns     true: queued or running; a zombie is closed first and does not count. On a standby and
--             in a read-only transaction it just reads.
-- Raises      22004 an argument is null, 22023 no such severity
-- Locks       the rows that it closes

create or replace function cortex.report_populate_active(
    corpus_id integer,
    service_id integer,
    severity text
)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_slice constant pg_catalog.jsonb := cortex.report_slice(
        corpus_id => report_populate_active.corpus_id,
        service_id => report_populate_active.service_id,
        severity => report_populate_active.severity
    );
    v_jobs bigint[];
begin
    select array_agg(j.id)
    into v_jobs
    from cortex.job as j
    where j.status in ('queued', 'running')
        and j.kind = 'populate_report'
        and j.params @> v_slice;

    if v_jobs is null then
        return false;
    end if;

    if current_setting('transaction_read_only') = 'off' then
        begin
            perform cortex.interrupt_silent(candidates => v_jobs, older_than => null);
            perform cortex.interrupt_abandoned(candidates => v_jobs);
        exception when serialization_failure then
            null; -- a job has changed since the snapshot, which shows it as it was: no reason not to look
        end;
    end if;

    return exists (
        select
        from cortex.job as j
        where j.id = any(v_jobs)
            and j.status in ('queued', 'running')
    );
end;
$$;

comment on function cortex.report_populate_active(integer, integer, text) is
'Whether a count of this slice of the reports is queued or running.';
