-- One slice of the reports as params and debounce scope name it.
--
-- Called by   spawn_report_populate, report_populate_active
-- Raises      22004 an argument is null, 22023 no such severity

create or replace function cortex.report_slice(
    corpus_id integer,
    service_id integer,
    severity text
)
returns jsonb
language plpgsql
immutable
set search_path = ''
as $$
begin
    if report_slice.corpus_id is null then
        raise exception 'corpus_id is null'
            using errcode = '22004', hint = 'Table corpus.corpora lists them.';
    end if;
    if report_slice.service_id is null then
        raise exception 'service_id is null'
            using errcode = '22004', hint = 'Table corpus.services lists them.';
    end if;
    perform cortex.require_severity(severity => report_slice.severity);

    return jsonb_build_object(
        'corpus_id', report_slice.corpus_id,
        'service_id', report_slice.service_id,
        'severity', report_slice.severity
    );
end;
$$;

comment on function cortex.report_slice(integer, integer, text) is
'The params of the job that counts one slice of the reports.';
