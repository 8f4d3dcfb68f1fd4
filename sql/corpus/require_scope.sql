-- Refuse a corpus and a service that are not there.
--
-- Called by   corpus.require_slice, corpus.put_tasks
-- Raises      22004 an argument is null, 22023 no such corpus or service

create or replace function corpus.require_scope(corpus_id integer, service_id integer)
returns void
language plpgsql
stable
security definer
set search_path = ''
as $$
begin
    if require_scope.corpus_id is null then
        raise exception 'corpus_id is null'
            using errcode = '22004', hint = 'Table corpus.corpora lists them.';
    end if;
    if require_scope.service_id is null then
        raise exception 'service_id is null'
            using errcode = '22004', hint = 'Table corpus.services lists them.';
    end if;
    if not exists (select from corpus.corpora as c where c.id = require_scope.corpus_id) then
        raise exception 'no such corpus: %', require_scope.corpus_id
            using errcode = '22023', hint = 'Table corpus.corpora lists them.';
    end if;
    if not exists (select from corpus.services as s where s.id = require_scope.service_id) then
        raise exception 'no such service: %', require_scope.service_id
            using errcode = '22023', hint = 'Table corpus.services lists them.';
    end if;
end;
$$;

comment on function corpus.require_scope(integer, integer) is
'Raises unless there are such a corpus and service.';
