-- Refuse what can't become tasks, before anything is written.
--
-- Called by   corpus.put_tasks
-- Raises      22004 an array, an entry or a status is null, 22023 arrays of different lengths, a document
--             named twice, an entry that is empty or too long, a status that is none; the first by its place

create or replace function corpus.check_documents(entries text[], statuses integer[])
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_bad pg_catalog.record;
begin
    if check_documents.entries is null then
        raise exception 'entries is null'
            using errcode = '22004', hint = 'Give an array with the name of each document.';
    end if;
    if check_documents.statuses is null then
        raise exception 'statuses is null'
            using errcode = '22004', hint = 'Give one status for each entry, in the same order.';
    end if;
    if cardinality(check_documents.entries) <> cardinality(check_documents.statuses) then
        raise exception '% entries, but % statuses',
            cardinality(check_documents.entries), cardinality(check_documents.statuses)
            using errcode = '22023', hint = 'Give one status for each entry, in the same order.';
    end if;

    select
        d.place,
        d.entry,
        d.status
    into v_bad
    from unnest(check_documents.entries, check_documents.statuses)
        with ordinality as d (entry, status, place)
    where d.entry is null
        or d.status is null
        or octet_length(d.entry) not between 1 and 2000
        or d.status not between -5 and 0
    order by d.place
    limit 1;

    if found then
        if v_bad.entry is null then
            raise exception 'entry number % is null', v_bad.place
                using errcode = '22004', hint = 'Name each document.';
        end if;
        if v_bad.status is null then
            raise exception 'the status of entry % is null', left(v_bad.entry, 200)
                using errcode = '22004', hint = 'From 0, to do, down to -5, invalid.';
        end if;
        if v_bad.status not between -5 and 0 then
            raise exception 'the status of entry % is %', left(v_bad.entry, 200), v_bad.status
                using errcode = '22023', hint = 'From 0, to do, down to -5, invalid.';
        end if;
        raise exception 'entry number % is % bytes long', v_bad.place, octet_length(v_bad.entry)
            using errcode = '22023', hint = '1 to 2000 bytes, what fits into an index.';
    end if;

    select d.entry into v_bad
    from unnest(check_documents.entries) as d (entry)
    group by d.entry
    having count(*) > 1
    order by d.entry
    limit 1;

    if found then
        raise exception 'entry % is named twice', left(v_bad.entry, 200)
            using errcode = '22023', hint = 'Give each document once.';
    end if;
end;
$$;

comment on function corpus.check_documents(text[], integer[]) is
'Raises unless each of these can be a document with its status.';
