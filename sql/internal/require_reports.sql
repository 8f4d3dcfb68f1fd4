-- Say clearly that the data model of the reports is not in this database.
--
-- Raises      0A000 installed without schema corpus

create or replace function cortex.require_reports()
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
    if to_regclass('corpus.report_grain_cache') is null then
        raise exception 'schema corpus is not installed in this database'
            using errcode = '0A000', hint = 'Run pycortex install without --without-corpus.';
    end if;
end;
$$;

comment on function cortex.require_reports() is
'Raises unless schema corpus is installed.';
