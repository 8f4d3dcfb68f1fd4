-- Forget the reports of one corpus and service, because its tasks or messages changed.
--
-- Called by   the import, in the transaction of each batch; whoever changes tasks otherwise
-- Returns     rows dropped from the cache
-- Raises      22004 an argument is null
-- Locks       the five slices until commit. Waits for a populate that is under way, so that counts
--             taken before the change don't outlive it: call it last in the transaction.

create or replace function corpus.invalidate_scope(corpus_id integer, service_id integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_rows bigint;
begin
    if invalidate_scope.corpus_id is null then
        raise exception 'corpus_id is null'
            using errcode = '22004', hint = 'Table corpus.corpora lists them.';
    end if;
    if invalidate_scope.service_id is null then
        raise exception 'service_id is null'
            using errcode = '22004', hint = 'Table corpus.services lists them.';
    end if;

    perform corpus.lock_slice(
        corpus_id => invalidate_scope.corpus_id,
        service_id => invalidate_scope.service_id,
        severity => null
    );

    delete from corpus.report_grain_cache as r
    where r.corpus_id = invalidate_scope.corpus_id
        and r.service_id = invalidate_scope.service_id;

    get diagnostics v_rows = row_count;
    return v_rows;
end;
$$;

comment on function corpus.invalidate_scope(integer, integer) is
'Drops the cached reports of one corpus and service; returns how many rows.';
