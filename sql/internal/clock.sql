-- The clock of the views.
--
-- Declared stable, although it moves: a volatile function among a view's columns keeps the planner
-- from merging the view into a query, and a join with it would read every row. And in plpgsql: a function
-- in SQL is read and planned anew by every query that calls it, which costs more than the query itself.

create or replace function cortex.clock()
returns timestamptz
language plpgsql
stable
parallel safe
set search_path = ''
as $$
begin
    return clock_timestamp();
end;
$$;

comment on function cortex.clock() is
'The database''s current time, for use in views.';
