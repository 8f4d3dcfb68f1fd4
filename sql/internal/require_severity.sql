-- The one place that knows which severities a message can have.
--
-- Raises      22004 severity is null, 22023 no such severity

create or replace function cortex.require_severity(severity text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
    if require_severity.severity is null then
        raise exception 'severity is null'
            using errcode = '22004', hint = 'One of info, warning, error, fatal, invalid.';
    end if;
    if require_severity.severity not in ('info', 'warning', 'error', 'fatal', 'invalid') then
        raise exception 'unknown severity: %', left(require_severity.severity, 100)
            using errcode = '22023', hint = 'One of info, warning, error, fatal, invalid.';
    end if;
end;
$$;

comment on function cortex.require_severity(text) is
'Raises unless this is a severity: info, warning, error, fatal or invalid.';
