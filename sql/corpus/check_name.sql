-- Refuse what can't be the name of a corpus or a service.
--
-- Called by   corpus.open_corpus, corpus.open_service
-- Raises      22004 name is null, 22023 name blank or too long

create or replace function corpus.check_name(name text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
begin
    if check_name.name is null then
        raise exception 'name is null'
            using errcode = '22004', hint = 'Give it a name of 1 to 200 characters.';
    end if;
    if check_name.name !~ '[^[:space:]]' then
        raise exception 'name is empty'
            using errcode = '22023', hint = 'Give it a name of 1 to 200 characters.';
    end if;
    if length(check_name.name) > 200 then
        raise exception 'name is % characters long', length(check_name.name)
            using errcode = '22023', hint = 'At most 200 characters.';
    end if;
end;
$$;

comment on function corpus.check_name(text) is
'Raises unless this can be the name of a corpus or a service.';
