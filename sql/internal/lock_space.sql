-- First key of every advisory lock of this system; the second tells them apart.
--
-- Returns     the bytes of "cort"; second keys: a runner's lease, 0 for maintain, -1 for installing,
--             -2 and less for tables that are being reindexed or analyzed

create or replace function cortex.lock_space()
returns integer
language sql
immutable
parallel safe
set search_path = ''
as $$
    select 1668248180;
$$;

comment on function cortex.lock_space() is
'First key of all advisory locks of this schema.';
