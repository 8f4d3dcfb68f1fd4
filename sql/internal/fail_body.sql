-- Write how a body in SQL failed: by an error, or because its end was asked for.
--
-- Called by   work, when what the body did is undone
-- Returns     nothing. A job that was ended from outside stays as it is

create or replace function cortex.fail_body(
    job uuid,
    attempt integer,
    state text,
    message text
)
returns void
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_verdict cortex.verdict;
begin
    -- By a step, which waits for whoever ended the statement to commit; a look would not.
    select cortex.step(
        job => fail_body.job,
        current => j.progress_current,
        total => j.progress_total,
        attempt => fail_body.attempt
    )
    into v_verdict
    from cortex.jobs as j
    where j.uuid = fail_body.job;

    if fail_body.state = '57014' then
        if v_verdict = 'stop' then
            perform cortex.note_end(
                job => fail_body.job,
                note => 'its statement was cancelled',
                attempt => fail_body.attempt
            );
            return;
        end if;
        if v_verdict = 'cancel' then
            perform cortex.finish_job(
                job => fail_body.job,
                status => 'cancelled',
                message => 'cancelled on request, amid a statement',
                attempt => fail_body.attempt
            );
            return;
        end if;
    end if;
    if v_verdict = 'stop' then
        return;
    end if;
    perform cortex.finish_job(
        job => fail_body.job,
        status => 'failed',
        message => format('%s (SQLSTATE %s)', fail_body.message, fail_body.state),
        attempt => fail_body.attempt
    );
end;
$$;

comment on function cortex.fail_body(uuid, integer, text, text) is
'Ends a job whose body in SQL raised an error.';
