-- Delete what was written down of jobs that are deleted.
--
-- In place of a foreign key, which would ask at each event whether its job is there.
--
-- Called by   the triggers job_takes_its_events and jobs_take_their_events, for each statement

create or replace function cortex.drop_events()
returns trigger
language plpgsql
volatile
security definer
set search_path = ''
set enable_seqscan = off
as $$
begin
    if tg_op = 'TRUNCATE' then
        delete from cortex.event;
    else
        -- Job by job in the index, however large the table is and whatever the statistics say.
        delete from cortex.event as e
        where e.job_id = any(array(select o.id from old_rows as o));
    end if;
    return null;
end;
$$;

comment on function cortex.drop_events() is
'Trigger: deletes the events of deleted jobs.';

create or replace trigger job_takes_its_events
after delete on cortex.job
referencing old table as old_rows
for each statement
execute function cortex.drop_events();

comment on trigger job_takes_its_events on cortex.job is
'No event is left behind by its job.';

create or replace trigger jobs_take_their_events
after truncate on cortex.job
for each statement
execute function cortex.drop_events();

comment on trigger jobs_take_their_events on cortex.job is
'No event is left behind when all jobs are removed at once.';
