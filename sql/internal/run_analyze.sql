-- The body of kind analyze in SQL: the tables of the params, each in a transaction of its own. One that
-- fails is named, the rest goes on.
--
-- ANALYZE only warns where a right is missing, and a warning can't be caught here; so rights are looked at
-- before.
--
-- Called by   work; with the rights of its caller
-- Locks       one table after the other, as ANALYZE does; waits for each as long as lock_timeout in the params
--             says, or for a minute

create or replace procedure cortex.run_analyze(job uuid)
language plpgsql
security invoker
as $$
declare
    v_params pg_catalog.jsonb;
    v_attempt integer;
    v_tables pg_catalog.text[];
    v_table pg_catalog.text;
    v_place bigint := 0;
    v_total bigint;
    v_verdict cortex.verdict;
    v_parts pg_catalog.text[];
    v_class pg_catalog.record;
    v_wait pg_catalog.text;
    v_reason pg_catalog.text;
    v_done pg_catalog.text[] := array[]::pg_catalog.text[];
    v_failed pg_catalog.text[] := array[]::pg_catalog.text[];
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
        perform cortex.finish_job(
            job => run_analyze.job,
            status => 'failed',
            message => 'params: "tables" must be a list of table names',
            attempt => v_attempt
        );
        return;
    end if;
    v_tables := array(select t.name from jsonb_array_elements_text(v_params -> 'tables') as t (name));
    v_total := cardinality(v_tables);
    v_wait := coalesce(v_params ->> 'lock_timeout', '60s');

    foreach v_table in array v_tables loop
        v_verdict := cortex.step(
            job => run_analyze.job,
            current => v_place,
            total => v_total,
            message => 'analyzing ' || v_table,
            attempt => v_attempt
        );
        commit;
        exit when v_verdict <> 'continue';

        v_reason := null;
        v_class := null;
        begin
            begin
                v_parts := parse_ident(v_table);
            exception when invalid_parameter_value then
                v_parts := null;
            end;
            select
                c.oid,
                n.nspname,
                c.relname,
                c.relowner
            into v_class
            from pg_catalog.pg_class as c
            join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
            where array[n.nspname::pg_catalog.text, c.relname::pg_catalog.text] = v_parts;

            if not found then
                v_reason := 'there is no such table any more';
            elsif not (
                pg_has_role(v_class.relowner, 'usage')
                or pg_has_role(
                    (select d.datdba from pg_catalog.pg_database as d where d.datname = current_database()),
                    'usage'
                )
                -- Older servers do not know this right.
                or case
                    when current_setting('server_version_num')::integer >= 170000
                        then has_table_privilege(v_class.oid, 'maintain')
                    else false
                end
            ) then
                v_reason := format('role %s may not analyze it', current_user);
            else
                perform set_config('lock_timeout', v_wait, true);
                -- Dynamic: the table is data; its name is quoted by format.
                execute format('analyze %I.%I', v_class.nspname, v_class.relname);
                v_done := v_done || v_table;
            end if;
        exception
            when query_canceled then
                v_cut_off := true;
                v_reason := sqlerrm;
            when lock_not_available then
                v_reason := concat_ws(
                    '; ',
                    sqlerrm,
                    (
                        select format('in the way is session %s (%s)', a.pid,
                            concat_ws(', ', nullif(a.application_name, ''), a.state))
                        from pg_catalog.pg_locks as l
                        join pg_catalog.pg_stat_activity as a on a.pid = l.pid
                        where l.locktype = 'relation'
                            and l.relation = v_class.oid
                            and l.granted
                            and a.pid <> pg_backend_pid()
                        order by a.xact_start
                        limit 1
                    )
                );
            when others then
                v_reason := sqlerrm;
        end;
        commit;
        exit when v_cut_off;
        if v_reason is not null then
            v_failed := v_failed || (v_table || ': ' || v_reason);
        end if;
        v_place := v_place + 1;
    end loop;

    if v_cut_off then
        perform cortex.fail_body(
            job => run_analyze.job, attempt => v_attempt, state => '57014', message => v_reason
        );
    elsif v_verdict = 'cancel' then
        perform cortex.finish_job(
            job => run_analyze.job, status => 'cancelled', message => 'cancelled', attempt => v_attempt
        );
    elsif v_failed <> '{}' then
        perform cortex.finish_job(
            job => run_analyze.job,
            status => 'failed',
            message => format(
                '%s of %s tables failed: %s%s',
                cardinality(v_failed),
                v_total,
                array_to_string(v_failed, '; '),
                case when v_done <> '{}' then '; analyzed: ' || array_to_string(v_done, ', ') end
            ),
            attempt => v_attempt
        );
    elsif v_verdict = 'continue' then
        perform cortex.step(
            job => run_analyze.job,
            current => v_total,
            total => v_total,
            message => 'analyze complete',
            attempt => v_attempt
        );
        perform cortex.finish_job(
            job => run_analyze.job,
            status => 'succeeded',
            result => jsonb_build_object('analyzed', v_done),
            attempt => v_attempt
        );
    end if;
end;
$$;

comment on procedure cortex.run_analyze(uuid) is
'Body of kind analyze: refreshes the statistics of tables, one by one.';
