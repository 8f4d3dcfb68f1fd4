-- One job by its handle.
--
-- Returns     its row, or none

create or replace function cortex.find_job(job uuid)
returns setof cortex.jobs
language plpgsql
volatile
parallel safe
security definer
set search_path = ''
rows 1
as $$
begin
    return query
    select j.*
    from cortex.jobs as j
    where j.uuid = find_job.job;
end;
$$;

comment on function cortex.find_job(uuid) is
'The job with this uuid, if there is one.';
