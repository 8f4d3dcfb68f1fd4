-- The service of this name, made when there is none.
--
-- Called by   the import
-- Returns     its id
-- Raises      22004 name is null, 22023 name blank or too long
-- Locks       waits for a concurrent call that makes the same service to commit or roll back

create or replace function corpus.open_service(name text)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_id integer;
begin
    perform corpus.check_name(name => open_service.name);

    for v_try in 1..2 loop
        -- Looking first keeps a repeated call from using up an id.
        select s.id
        into v_id
        from corpus.services as s
        where s.name = open_service.name;

        exit when found;

        insert into corpus.services (name)
        values (open_service.name)
        on conflict on constraint services_name_key do nothing
        returning id into v_id;

        exit when found;
    end loop;

    if v_id is null then
        raise exception 'service % was made meanwhile', open_service.name
            using errcode = '40001', hint = 'Try the whole transaction again.';
    end if;
    return v_id;
end;
$$;

comment on function corpus.open_service(text) is
'Returns the id of the service of this name, which it makes when there is none.';
