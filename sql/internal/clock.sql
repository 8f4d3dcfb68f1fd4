-- The clock of the views.
--
-- Declared stable, although it moves: a volatile function among a view's columns keeps the planner
-- from merging the view into a query, and a join with it would read every row.

create or replace function cortex.clock()
returns timestamptz
language sql
stable
parallel safe
set search_path = ''
as $$
    select clock_timestamp();
$$;

comment on function cortex.clock() is
'The database''s current time, for use in views.';
