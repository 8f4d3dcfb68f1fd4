-- Run jobs whose kind has a body inside the database, one after the other, here and now.
--
-- Each job is claimed in one transaction and run in the next, where what it did and how it ended are
-- committed together. An error undoes what the body did and ends the job failed, with its text and SQLSTATE.
-- A procedure that ends transactions itself runs outside of any block, where no error can be caught: such an
-- error ends this call too, and the next one, or pg_cron's, writes the job's end.
--
-- Runs as its caller, and runs only bodies that were registered for that role, or came with this schema.
-- A body sees the search_path pg_catalog, pg_temp, whatever the session's is.
--
-- Called by   pg_cron, through schedule_work; anybody who is a runner, by call, outside of a transaction
-- Raises      2D000 called inside a transaction or by a body, 22023 fewer than one job; what a body that ends transactions
--             raises
-- Locks       what claim_jobs locks; a runner's lease for the time of the call

create or replace procedure cortex.work(max_jobs integer default 1)
language plpgsql
security invoker
as $$
-- A procedure that ends transactions can't have a search_path of its own: it is set first in each of them,
-- by a name with a schema, and nothing of the session's own is asked before.
declare
    v_path constant pg_catalog.text := pg_catalog.current_setting('search_path');
    v_role constant pg_catalog.text := pg_catalog.current_setting('role');
    v_refusal pg_catalog.text;
    v_kinds pg_catalog.text[];
    v_runner pg_catalog.uuid;
    v_job pg_catalog.uuid;
    v_kind pg_catalog.text;
    v_attempt integer;
    v_body pg_catalog.record;
    v_result pg_catalog.jsonb;
    v_failed boolean;
    v_state pg_catalog.text;
    v_message pg_catalog.text;
    v_detail pg_catalog.text;
    v_context pg_catalog.text;
begin
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

    if work.max_jobs < 1 then
        raise exception 'max_jobs is %', work.max_jobs
            using errcode = '22023', hint = 'Run at least one job.';
    end if;

    -- Not possible here in any case, as this block catches errors; but the words tell why.
    begin
        commit;
    exception when invalid_transaction_termination then
        v_refusal := sqlerrm;
    end;
    if v_refusal = cortex.refused_commit() then
        raise exception 'cortex.work can''t run inside a transaction, a function or another statement'
            using errcode = '2D000',
            hint = 'Call it by itself, with autocommit: each job has a transaction of its own.';
    end if;

    -- It would take the job that calls it for one that was lost in this session.
    get diagnostics v_context = pg_context;
    if v_context like '%cortex.work(integer)%cortex.work(integer)%' then
        raise exception 'cortex.work can''t run inside a body that it runs'
            using errcode = '2D000', hint = 'Spawn the jobs; they come in their turn.';
    end if;

    commit;
    set transaction isolation level read committed;
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    perform cortex.settle_bodies();
    commit;
    set transaction isolation level read committed;
    perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
    perform cortex.maintain();
    perform cortex.purge_cron_runs();

    for v_turn in 1..coalesce(work.max_jobs, 1) loop
        commit;
        set transaction isolation level read committed;
        perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);

        v_kinds := cortex.kinds_to_work(role => current_user::pg_catalog.text);
        exit when v_kinds = '{}';
        if v_runner is null then
            v_runner := cortex.register_runner(
                name => 'cortex.work', host => 'the database server', pid => pg_backend_pid()
            );
        end if;
        select
            c.uuid,
            c.kind,
            c.attempt
        into v_job, v_kind, v_attempt
        from cortex.claim_jobs(runner => v_runner, kinds => v_kinds, max_jobs => 1) as c;
        exit when not found;
        perform cortex.attach_backend(job => v_job);
        commit;

        perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', true);
        v_failed := false;
        v_result := null;
        v_body := null;
        begin
            select b.* into v_body
            from cortex.sql_body(kind => v_kind, role => current_user::pg_catalog.text) as b;

            -- Dynamic: which routine it is, is data; its name is quoted by format and has a schema.
            if v_body.commits then
                -- A dynamic call can't end transactions, one of a fixed name can.
                execute format(
                    'create or replace procedure pg_temp.cortex_body(job pg_catalog.uuid) '
                    'language plpgsql as %L',
                    format('begin call %s(job); end', v_body.called)
                );
            else
                perform set_config('cortex.uncommitted_body', v_job::pg_catalog.text, true);
                if v_body.gives_value then
                    execute v_body.statement into v_result using v_job;
                else
                    execute v_body.statement using v_job;
                end if;
                set constraints all immediate;
                perform cortex.end_body(job => v_job, attempt => v_attempt, result => v_result);
            end if;
        exception when query_canceled or assert_failure or others then
            v_failed := true;
            get stacked diagnostics
                v_state = returned_sqlstate,
                v_message = message_text,
                v_detail = pg_exception_detail,
                v_context = pg_exception_context;
        end;

        if v_failed then
            perform cortex.fail_body(
                job => v_job, attempt => v_attempt, state => v_state, message => v_message
            );
            raise warning 'job % of kind %: % (SQLSTATE %)', v_job, v_kind, v_message, v_state
                using detail = concat_ws(e'\n', nullif(v_detail, ''), v_context);
        elsif v_body.commits then
            -- For its later transactions as well; should it fail, for the session.
            perform pg_catalog.set_config('search_path', 'pg_catalog, pg_temp', false);
            commit;
            call pg_temp.cortex_body(v_job);
            perform pg_catalog.set_config('role', v_role, false);
            perform pg_catalog.set_config('search_path', v_path, false);
            begin
                perform cortex.end_body(job => v_job, attempt => v_attempt, result => null);
            exception when others then
                raise warning 'the end of job % can''t be written: %', v_job, sqlerrm;
            end;
        end if;
    end loop;

    commit;
    if v_runner is not null then
        perform cortex.retire_runner(runner => v_runner);
    end if;
end;
$$;

comment on procedure cortex.work(integer) is
'Claims and runs jobs whose kind has a body inside the database.';
