-- Wait until nobody else has a job's row, for two seconds at most.
--
-- Called by   spawn_job, for a zombie in its way
-- Returns     whether the row is free now; false: somebody keeps it, who then lives
-- Locks       that row, if it is free

create or replace function cortex.outwait(id bigint)
returns boolean
language plpgsql
volatile
set search_path = ''
set lock_timeout = '2s'
as $$
begin
    perform from cortex.job as j where j.id = outwait.id for update;
    return true;
exception when lock_not_available then
    return false;
end;
$$;

comment on function cortex.outwait(bigint) is
'Waits a moment for whoever has a job''s row.';
