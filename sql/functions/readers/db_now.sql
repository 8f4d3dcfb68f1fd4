-- The one clock that counts: the database's, also in the middle of a long transaction.

create or replace function cortex.db_now()
returns timestamptz
language sql
volatile
parallel safe
security definer
set search_path = ''
as $$
    select clock_timestamp();
$$;

comment on function cortex.db_now() is
'The database''s current time.';
