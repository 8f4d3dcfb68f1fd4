-- The size of a table or an index, if that can be had in a moment.
--
-- PostgreSQL looks at the files under a lock, and would wait as long as somebody alters the table.
--
-- Called by   table_indexes, tree_bytes
-- Returns     bytes of all forks; of a table with its TOAST, without its indexes. Null: somebody has it locked

create or replace function cortex.relation_bytes(relation oid)
returns bigint
language plpgsql
stable
set search_path = ''
set lock_timeout = '100ms'
as $$
begin
    return pg_table_size(relation_bytes.relation);
exception when lock_not_available then
    return null;
end;
$$;

comment on function cortex.relation_bytes(oid) is
'Bytes of a table or an index; null where it is locked at this moment.';
