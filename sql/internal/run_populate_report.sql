-- The body of kind populate_report in SQL: counts the slice that the params name, in ranges of its tasks, each in
-- a transaction of its own; then keeps what each task adds, in ranges too. Where that is kept already, only what
-- changed is counted.
--
-- Called by   work; with the rights of its caller
-- Locks       the slice, for a moment at the beginning and at the end

create or replace procedure cortex.run_populate_report(job uuid)
language plpgsql
security invoker
as $$
declare
    v_params pg_catalog.jsonb;
    v_attempt integer;
    v_name pg_catalog.text;
    v_fault pg_catalog.text;
    v_state pg_catalog.text;
    v_refreshed boolean := false;
    v_corpus integer;
    v_service integer;
    v_severity pg_catalog.text;
    v_plan pg_catalog.record;
    v_first bigint;
    v_last bigint;
    v_width bigint;
    v_began pg_catalog.timestamptz;
    v_verdict cortex.verdict := 'continue'::cortex.verdict;
    v_rows bigint;
begin
    select
        j.params,
        j.attempt
    into v_params, v_attempt
    from cortex.jobs as j
    where j.uuid = run_populate_report.job;

    foreach v_name in array array['corpus_id', 'service_id'] loop
        if jsonb_typeof(v_params -> v_name) is distinct from 'number'
            or (v_params ->> v_name)::numeric not between 1 and 2147483647
            or (v_params ->> v_name)::numeric % 1 <> 0
        then
            v_fault := format(
                'params: "%s" must be the number of one, not %s',
                v_name,
                coalesce(left((v_params -> v_name)::pg_catalog.text, 100), 'nothing')
            );
        end if;
    end loop;
    if v_fault is null and jsonb_typeof(v_params -> 'severity') is distinct from 'string' then
        v_fault := 'params: "severity" must be a text';
    end if;
    if v_fault is not null then
        perform cortex.fail_body(
            job => run_populate_report.job, attempt => v_attempt, state => '22023', message => v_fault
        );
        return;
    end if;
    v_corpus := (v_params ->> 'corpus_id')::numeric::integer;
    v_service := (v_params ->> 'service_id')::numeric::integer;
    v_severity := v_params ->> 'severity';

    begin
        v_rows := corpus.refresh_slice(
            corpus_id => v_corpus, service_id => v_service, severity => v_severity
        );
    exception when query_canceled or others then
        v_state := sqlstate;
        v_fault := sqlerrm;
    end;
    commit;

    -- All is counted first, to be there soon; then once more with what each task adds, to be kept.
    foreach v_name in array array['counting', 'keeping'] loop
        exit when v_fault is not null or v_refreshed or v_verdict <> 'continue';
        v_refreshed := v_name = 'counting' and v_rows is not null;
        exit when v_refreshed;

        begin
            v_plan := corpus.begin_run(
                corpus_id => v_corpus,
                service_id => v_service,
                severity => v_severity,
                keeps => v_name = 'keeping'
            );
        exception when query_canceled or others then
            v_state := sqlstate;
            v_fault := sqlerrm;
        end;
        commit;
        exit when v_fault is not null;

        v_first := v_plan.first_task;
        v_width := 1000;
        while v_first <= v_plan.last_task loop
            v_verdict := cortex.step(
                job => run_populate_report.job,
                current => v_first - v_plan.first_task,
                total => v_plan.last_task - v_plan.first_task + 1,
                message => format('%s the %s report', v_name, v_severity),
                attempt => v_attempt
            );
            commit;
            exit when v_verdict <> 'continue';

            v_began := clock_timestamp();
            v_last := least(v_first + v_width - 1, v_plan.last_task);
            begin
                if v_name = 'keeping' then
                    perform corpus.keep_range(
                        run => v_plan.run, first_task => v_first, last_task => v_last
                    );
                else
                    perform corpus.count_range(
                        run => v_plan.run, first_task => v_first, last_task => v_last
                    );
                end if;
            exception when query_canceled or others then
                v_state := sqlstate;
                v_fault := sqlerrm;
            end;
            commit;
            exit when v_fault is not null;
            v_first := v_last + 1;
            v_width := corpus.next_width(width => v_width, took => clock_timestamp() - v_began);
        end loop;

        if v_fault is null and v_verdict = 'continue' then
            begin
                v_rows := corpus.finish_run(run => v_plan.run);
            exception when query_canceled or others then
                v_state := sqlstate;
                v_fault := sqlerrm;
            end;
        end if;
        if v_fault is not null or v_verdict <> 'continue' then
            perform corpus.drop_run(run => v_plan.run);
        end if;
        commit;
    end loop;

    while corpus.clear_runs(batch_size => 20000) >= 20000 loop
        commit;
    end loop;

    if v_fault is not null then
        perform cortex.fail_body(
            job => run_populate_report.job, attempt => v_attempt, state => v_state, message => v_fault
        );
        return;
    end if;
    if v_verdict = 'cancel' then
        perform cortex.finish_job(
            job => run_populate_report.job,
            status => 'cancelled',
            message => 'cancelled',
            attempt => v_attempt
        );
        return;
    elsif v_verdict = 'stop' then
        return;
    end if;
    perform cortex.step(
        job => run_populate_report.job,
        current => 1,
        total => 1,
        message => 'report ready',
        attempt => v_attempt
    );
    perform cortex.finish_job(
        job => run_populate_report.job,
        status => 'succeeded',
        result => jsonb_build_object('populated', v_severity, 'rows', v_rows),
        attempt => v_attempt
    );
end;
$$;

comment on procedure cortex.run_populate_report(uuid) is
'Body of kind populate_report: counts one slice of the reports, in ranges of its tasks.';
