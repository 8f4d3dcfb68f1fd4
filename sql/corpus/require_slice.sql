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

    if require_slice.corpus_id is null then
        raise exception 'corpus_id is null'
            using errcode = '22004', hint = 'Table corpus.corpora lists them.';
    end if;
    if require_slice.service_id is null then
        raise exception 'service_id is null'
            using errcode = '22004', hint = 'Table corpus.services lists them.';
    end if;
    if not exists (select from corpus.corpora as c where c.id = require_slice.corpus_id) then
        raise exception 'no such corpus: %', require_slice.corpus_id
            using errcode = '22023', hint = 'Table corpus.corpora lists them.';
    end if;
    if not exists (select from corpus.services as s where s.id = require_slice.service_id) then
        raise exception 'no such service: %', require_slice.service_id
            using errcode = '22023', hint = 'Table corpus.services lists them.';
    end if;
end;
$$;

comment on function corpus.require_slice(integer, integer, text) is
'Raises unless there are such a corpus and service, and severity is one.';
