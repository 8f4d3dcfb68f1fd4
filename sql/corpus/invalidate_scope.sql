-- Forget the reports of one corpus and service, because its tasks or messages changed.
--
-- Called by   the import, in the transaction of each batch; whoever changes tasks otherwise
-- Returns     rows dropped from the cache
-- Raises      22004 an argument is null
-- Locks       the five slices until commit. A slice that somebody is counting at this moment is not waited
--             for: it will be stale when that count is published.

create or replace function corpus.invalidate_scope(corpus_id integer, service_id integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    if invalidate_scope.corpus_id is null then
        raise exception 'corpus_id is null'
            using errcode = '22004', hint = 'Table corpus.corpora lists them.';
    end if;
    if invalidate_scope.service_id is null then
        raise exception 'service_id is null'
            using errcode = '22004', hint = 'Table corpus.services lists them.';
    end if;

    return (
        select
            sum(
                corpus.drop_slice(
                    corpus_id => invalidate_scope.corpus_id,
                    service_id => invalidate_scope.service_id,
                    severity => s.severity
                )
            )
        from corpus.severities() as s
    );
end;
$$;

comment on function corpus.invalidate_scope(integer, integer) is
'Drops the cached reports of one corpus and service; returns how many rows.';
