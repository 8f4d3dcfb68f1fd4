-- The corpus of this name, made when there is none.
--
-- Called by   the import
-- Returns     its id
-- Raises      22004 name is null, 22023 name blank or too long
-- Locks       waits for a concurrent call that makes the same corpus to commit or roll back

create or replace function corpus.open_corpus(name text)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_id integer;
begin
    perform corpus.check_name(name => open_corpus.name);

    for v_try in 1..2 loop
        -- Looking first keeps a repeated call from using up an id.
        select c.id
        into v_id
        from corpus.corpora as c
        where c.name = open_corpus.name;

        exit when found;

        insert into corpus.corpora (name)
        values (open_corpus.name)
        on conflict on constraint corpora_name_key do nothing
        returning id into v_id;

        exit when found;
    end loop;

    if v_id is null then
        raise exception 'corpus % was made meanwhile', open_corpus.name
            using errcode = '40001', hint = 'Try the whole transaction again.';
    end if;
    return v_id;
end;
$$;

comment on function corpus.open_corpus(text) is
'Returns the id of the corpus of this name, which it makes when there is none.';
