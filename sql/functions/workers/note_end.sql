-- Add what became of the body to a job that was interrupted without it.
--
-- Called by   a runner that ended a body's process, since the database had ended the job
-- Returns     true: it stands there now; false: the job isn't interrupted, or is at another attempt
-- Raises      22004 job, note or attempt is null, JC101 no such job
-- Locks       the job's row

create or replace function cortex.note_end(job uuid, note text, attempt integer)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_id bigint;
begin
    if note_end.note is null or note_end.attempt is null then
        raise exception '% is null', case when note_end.note is null then 'note' else 'attempt' end
            using errcode = '22004', hint = 'Say what became of the body, and of which attempt.';
    end if;

    select j.id into v_id
    from cortex.job as j
    where j.uuid = note_end.job
    for no key update;

    if not found then
        perform cortex.require_job(job => note_end.job);
    end if;

    -- Where the kind asks for another attempt the job waits for it already.
    update cortex.job as j
    set message = cortex.clip(j.message || '; ' || note_end.note)
    where j.id = v_id
        and j.attempt = note_end.attempt
        and (
            j.status = 'interrupted'
            or (
                j.status = 'queued'
                and exists (
                    select
                    from cortex.event as e
                    where e.job_id = v_id
                        and e.attempt = note_end.attempt
                        and e.to_status = 'interrupted'
                )
            )
        )
        and right(j.message, length(note_end.note)) <> note_end.note;

    update cortex.event as e
    set message = cortex.clip(e.message || '; ' || note_end.note)
    where e.id = (
            select max(last.id)
            from cortex.event as last
            where last.job_id = v_id
                and last.attempt = note_end.attempt
                and last.to_status = 'interrupted'
        )
        and right(e.message, length(note_end.note)) <> note_end.note;

    return exists (
        select
        from cortex.event as e
        where e.job_id = v_id
            and e.attempt = note_end.attempt
            and e.to_status = 'interrupted'
    );
end;
$$;

comment on function cortex.note_end(uuid, text, integer) is
'Adds what became of the body to the message of an interrupted job.';
