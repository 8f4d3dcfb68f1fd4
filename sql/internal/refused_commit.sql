-- With which words this server refuses to end a transaction where that can't be done, in its own language.
--
-- Called by   work, to tell whether it was called inside a transaction

create or replace function cortex.refused_commit()
returns text
language plpgsql
volatile
set search_path = ''
as $$
begin
    commit;
    return null;
exception when invalid_transaction_termination then
    return sqlerrm;
end;
$$;

comment on function cortex.refused_commit() is
'The server''s words for a commit that is not possible.';
