-- The body of kind analyze in SQL: the tables of the params, each in a transaction of its own. One that
-- fails is named, the rest goes on; one that another job works on comes last.
--
-- Called by   work; with the rights of its caller
-- Locks       one table after the other, as analyze_table does; waits for each as long as lock_timeout in the
--             params says, or for a minute

create or replace procedure cortex.run_analyze(job uuid)
language plpgsql
security invoker
as $$
declare
    v_params pg_catalog.jsonb;
    v_attempt integer;
    v_tables pg_catalog.text[];
    v_total bigint;
    v_wait pg_catalog.text;
    v_patience interval;
    v_queue integer[];
    v_at integer := 1;
    v_place integer;
    v_done bigint := 0;
    v_since pg_catalog.timestamptz;
    v_message pg_catalog.text;
    v_verdict cortex.verdict := 'continue'::cortex.verdict;
    v_row pg_catalog.jsonb;
    v_rows pg_catalog.jsonb[] := '{}'::pg_catalog.jsonb[];
    v_warnings pg_catalog.jsonb := '[]'::pg_catalog.jsonb;
    v_result pg_catalog.jsonb;
    v_failed pg_catalog.text[];
    v_good pg_catalog.text[];
    v_reason pg_catalog.text;
    v_cut_off boolean := false;
begin
    select
        j.params,
        j.attempt
    into v_params, v_attempt
    from cortex.jobs as j
    where j.uuid = run_analyze.job;

    if jsonb_typeof(v_params -> 'tables') is distinct from 'array'
        or v_params -> 'tables' = '[]'
        or jsonb_path_exists(v_params, 'strict $.tables[*] ? (@.type() <> "string")')
    then
        v_reason := 'params: "tables" must be a list of table names';
    end if;
    v_wait := coalesce(v_params ->> 'lock_timeout', '60s');
    begin
        perform set_config('lock_timeout', v_wait, true);
        v_patience := (
            select make_interval(secs => s.setting::double precision / 1000)
            from pg_catalog.pg_settings as s
            where s.name = 'lock_timeout'
        );
    exception when others then
        v_reason := 'params: ' || sqlerrm;
    end;
    if v_reason is not null then
        perform cortex.finish_job(
            job => run_analyze.job, status => 'failed', message => v_reason, attempt => v_attempt
        );
        return;
    end if;
    if coalesce(v_params ->> 'statement_timeout', '0') not in ('0', '0s') then
        v_warnings := '["statement_timeout is not heeded by a body in SQL; a runner heeds it"]';
    end if;
    v_tables := array(
        select t.name
        from jsonb_array_elements_text(v_params -> 'tables') with ordinality as t (name, place)
        group by t.name
        order by min(t.place)
    );
    v_total := cardinality(v_tables);
    v_queue := array(select p from generate_series(1, v_total) as p);

    while v_at <= cardinality(v_queue) loop
        v_place := v_queue[v_at];
        v_message := 'analyzing ' || v_tables[v_place]
            || case when v_since is not null then ': waiting for another maintenance job' else '' end;
        v_verdict := cortex.step(
            job => run_analyze.job,
            current => v_done,
            total => v_total,
            message => v_message,
            attempt => v_attempt
        );
        commit;
        exit when v_verdict <> 'continue';

        begin
            v_row := cortex.analyze_table(name => v_tables[v_place], lock_timeout => v_wait);
        exception when query_canceled then
            v_cut_off := true;
            v_reason := sqlerrm;
        end;
        commit;
        exit when v_cut_off;

        if v_row ->> 'outcome' = 'busy' then
            if v_at <= v_total then
                v_queue := v_queue || v_place;
                v_at := v_at + 1;
                continue;
            end if;
            v_since := coalesce(v_since, clock_timestamp());
            if v_patience = interval '0' or clock_timestamp() - v_since < v_patience then
                -- In short transactions: a REINDEX waits for the snapshots of whoever waits for it.
                begin
                    perform pg_sleep(0.2);
                exception when query_canceled then
                    v_cut_off := true;
                    v_reason := sqlerrm;
                end;
                commit;
                exit when v_cut_off;
                continue;
            end if;
            v_row := v_row || jsonb_build_object(
                'outcome', 'failed',
                'reason', format(
                    'another maintenance job works on it, for longer than the lock_timeout of %s', v_wait
                )
            );
        end if;
        v_since := null;
        v_rows[v_place] := v_row || jsonb_build_object('warnings', v_warnings);
        v_done := v_done + 1;
        v_at := v_at + 1;
    end loop;

    if v_cut_off then
        perform cortex.fail_body(
            job => run_analyze.job, attempt => v_attempt, state => '57014', message => v_reason
        );
        return;
    end if;
    if v_verdict = 'cancel' then
        perform cortex.finish_job(
            job => run_analyze.job, status => 'cancelled', message => 'cancelled', attempt => v_attempt
        );
        return;
    end if;
    if v_verdict <> 'continue' then
        return;
    end if;

    v_good := array(
        select r.said ->> 'table' from unnest(v_rows) as r (said) where r.said ->> 'outcome' = 'done'
    );
    v_failed := array(
        select (r.said ->> 'table') || ': ' || (r.said ->> 'reason')
        from unnest(v_rows) as r (said)
        where r.said ->> 'outcome' <> 'done'
    );
    v_result := jsonb_build_object('analyzed', v_good, 'tables', v_rows);

    perform cortex.step(
        job => run_analyze.job,
        current => cardinality(v_good),
        total => v_total,
        message => case when v_failed = '{}' then 'analyze complete' else '' end,
        attempt => v_attempt
    );
    perform cortex.finish_job(
        job => run_analyze.job,
        status => case when v_failed = '{}' then 'succeeded' else 'failed' end::cortex.job_status,
        message => case
            when v_failed = '{}' then ''
            else format(
                '%s of %s tables failed: %s%s',
                cardinality(v_failed),
                v_total,
                array_to_string(v_failed, '; '),
                case when v_good <> '{}' then '; analyzed: ' || array_to_string(v_good, ', ') end
            )
        end,
        result => v_result,
        attempt => v_attempt
    );
end;
$$;

comment on procedure cortex.run_analyze(uuid) is
'Body of kind analyze: refreshes the statistics of tables, one by one.';
