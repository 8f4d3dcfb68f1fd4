-- The log table of a severity.
--
-- Called by   corpus.populate_scope
-- Raises      22004 severity is null, 22023 no such severity

create or replace function corpus.severity_log(severity text)
returns regclass
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    perform cortex.require_severity(severity => severity_log.severity);

    return format('corpus.%I', 'log_' || severity_log.severity || 's')::pg_catalog.regclass;
end;
$$;

comment on function corpus.severity_log(text) is
'The table that holds the messages of a severity: info, warning, error, fatal or invalid.';
