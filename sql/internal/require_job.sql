-- Say clearly that a job's handle leads nowhere.
--
-- Raises      22004 null, JC101 no such job

create or replace function cortex.require_job(job uuid)
returns void
language plpgsql
stable
set search_path = ''
as $$
begin
    if require_job.job is null then
        raise exception 'job is null'
            using errcode = '22004', hint = 'Give the uuid that spawn_job returned.';
    end if;
    if not exists (select from cortex.job as j where j.uuid = require_job.job) then
        raise exception 'no such job: %', require_job.job
            using errcode = 'JC101',
            hint = 'It may have been purged, or its spawn was rolled back.';
    end if;
end;
$$;

comment on function cortex.require_job(uuid) is
'Raises unless there is such a job.';
