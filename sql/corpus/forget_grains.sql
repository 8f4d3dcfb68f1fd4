-- Give up what is kept of each task of a corpus and service: to have all counted from the messages again.
--
-- Called by   whoever changed messages behind the triggers' back, or does not want to pay for keeping
-- Returns     slices that had something kept
-- Raises      22004 an argument is null
-- Locks       the five slices, until commit

create or replace function corpus.forget_grains(corpus_id integer, service_id integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_slices bigint;
begin
    if forget_grains.corpus_id is null or forget_grains.service_id is null then
        raise exception 'corpus_id or service_id is null'
            using errcode = '22004', hint = 'Tables corpus.corpora and corpus.services list them.';
    end if;
    perform corpus.lock_slice(
        corpus_id => forget_grains.corpus_id,
        service_id => forget_grains.service_id,
        severity => null
    );

    update corpus.run as r
    set state = 'dropped'
    where r.corpus_id = forget_grains.corpus_id
        and r.service_id = forget_grains.service_id
        and r.state = 'kept';
    get diagnostics v_slices = row_count;

    update corpus.slice as s
    set stale = true
    where s.corpus_id = forget_grains.corpus_id
        and s.service_id = forget_grains.service_id;
    return v_slices;
end;
$$;

comment on function corpus.forget_grains(integer, integer) is
'Gives up what is kept of the tasks of a corpus and service; returns of how many slices.';
