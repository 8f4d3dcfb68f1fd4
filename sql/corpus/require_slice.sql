-- Refuse a slice that can't be: an unknown corpus, service or severity.
--
-- Called by   corpus.populate_scope, corpus.report_slice
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity

create or replace function corpus.require_slice(
    corpus_id integer,
    service_id integer,
    severity text
)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    perform cortex.require_severity(severity => require_slice.severity);

    perform corpus.require_scope(
        corpus_id => require_slice.corpus_id, service_id => require_slice.service_id
    );
end;
$$;

comment on function corpus.require_slice(integer, integer, text) is
'Raises unless there are such a corpus and service, and severity is one.';
