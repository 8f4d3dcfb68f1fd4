-- Who may call what. Always last: nothing above is open to public.
--
-- The four roles belong to the server, not to the database; where the installer may not create them
-- and nobody has, only the owner of the schema can call, and grants what it wants itself.

do $$
declare
    -- clock, lock_space and rules are there because whoever reads a view calls its functions; others of the
    -- internal ones because what calls them runs as its caller: attach_backend, work, and what puts entries on
    -- pg_cron.
    v_readers constant text[] := array[
        'clock', 'count_recent_with_status', 'cron_entry', 'cron_name', 'db_now', 'find_job',
        'list_jobs', 'list_recent', 'list_schedules', 'lock_space', 'maintenance_plan', 'metrics', 'overview',
        'purge_plan', 'report_populate_active', 'rules', 'schema_version', 'status_counts'
    ];
    v_producers constant text[] := array[
        'cancel_job', 'rerun_job', 'spawn_analyze', 'spawn_job', 'spawn_jobs', 'spawn_reindex',
        'spawn_report_populate', 'spawn_report_refresh'
    ];
    v_runners constant text[] := array[
        'analyze_table', 'attach_backend', 'attach_session', 'begin_body', 'claim_jobs', 'end_body', 'fail_body',
        'finish_job', 'keep_runner', 'kinds_to_work', 'lost_bodies', 'maintain', 'maintenance_key',
        'note_end', 'partition_tree', 'purge_cron_runs', 'refused_commit', 'register_runner', 'relation_bytes',
        'retire_runner', 'run_analyze', 'run_populate_report', 'run_refresh_reports', 'set_running',
        'settle_bodies', 'sql_body', 'step', 'step_jobs', 'table_indexes', 'tree_bytes', 'work'
    ];
    v_admins constant text[] := array[
        'configure', 'configure_kind', 'cron_field', 'interrupt_orphans', 'next_run', 'purge_jobs',
        'put_cron_entry', 'put_sql_kind', 'reap_stale', 'register_sql_kind', 'require_cron', 'schedule_job',
        'schedule_maintenance', 'schedule_work', 'spawn_scheduled', 'take_cron_entry', 'unschedule_job',
        'unschedule_maintenance', 'unschedule_work'
    ];
    v_roles constant text[] := array[
        'cortex_reader', 'cortex_producer', 'cortex_runner', 'cortex_admin'
    ];
    v_role text;
    v_routine record;
begin
    execute 'revoke all on schema cortex from public';
    execute 'revoke all on all tables in schema cortex from public';
    execute 'revoke all on all sequences in schema cortex from public';
    execute 'revoke all on all routines in schema cortex from public';

    foreach v_role in array v_roles loop
        if to_regrole(v_role) is null then
            begin
                execute format('create role %I', v_role);
            exception
                when insufficient_privilege then
                    raise notice 'role % is not there and % may not create it', v_role, current_user;
                when duplicate_object or unique_violation then
                    null; -- another database of this server is being installed at this moment
            end;
        end if;
    end loop;

    -- Dynamic: each statement names a role that may be missing.
    for v_routine in
        select
            p.oid::regprocedure as signature,
            case
                when p.proname = any(v_readers) then 1
                when p.proname = any(v_producers) then 2
                when p.proname = any(v_runners) then 3
                else 4
            end as least_role
        from pg_catalog.pg_proc as p
        where p.pronamespace = to_regnamespace('cortex')
            and p.proname = any(v_readers || v_producers || v_runners || v_admins)
        order by 1
    loop
        foreach v_role in array v_roles[v_routine.least_role:4] loop
            if to_regrole(v_role) is not null then
                execute format('grant execute on routine %s to %I', v_routine.signature, v_role);
            end if;
        end loop;
    end loop;

    foreach v_role in array v_roles loop
        if to_regrole(v_role) is not null then
            execute format('grant usage on schema cortex to %I', v_role);
            execute format(
                'grant select on cortex.configuration, cortex.job_activity, '
                'cortex.job_events, cortex.jobs, cortex.kinds, cortex.runners, '
                'cortex.sql_kinds, cortex.upkeep_record, cortex.waiting to %I',
                v_role
            );
        end if;
    end loop;
end;
$$;

-- Schema corpus, where it is installed. Its tables are the user's data, open to readers; whoever runs
-- jobs may load and count it, and from PostgreSQL 17 on maintain it without owning it.

do $$
declare
    v_role text;
begin
    if to_regclass('corpus.report_grain_cache') is null then
        return;
    end if;

    execute 'revoke all on schema corpus from public';
    execute 'revoke all on all tables in schema corpus from public';
    execute 'revoke all on all sequences in schema corpus from public';
    execute 'revoke all on all routines in schema corpus from public';

    -- Dynamic: each statement names a role that may be missing.
    foreach v_role in array array[
        'cortex_reader', 'cortex_producer', 'cortex_runner', 'cortex_admin'
    ] loop
        continue when to_regrole(v_role) is null;

        execute format('grant usage on schema corpus to %I', v_role);
        execute format('grant select on all tables in schema corpus to %I', v_role);
        execute format(
            'revoke all on corpus.change, corpus.cleared, corpus.grain_name, corpus.kept_count, corpus.kept_task, '
            'corpus.part, corpus.run, corpus.slice from %I',
            v_role
        );
        execute format(
            'grant execute on function corpus.report_slice(integer, integer, text), '
            'corpus.slice_is_stale(integer, integer, text) to %I',
            v_role
        );

        continue when v_role = 'cortex_reader';

        execute format(
            'grant execute on function corpus.count_now(integer, integer, text, interval, text) to %I', v_role
        );

        continue when v_role not in ('cortex_runner', 'cortex_admin');

        execute format(
            'grant insert on corpus.log_infos, corpus.log_warnings, corpus.log_errors, '
            'corpus.log_fatals, corpus.log_invalids to %I',
            v_role
        );
        execute format(
            'grant execute on function corpus.begin_run(integer, integer, text, boolean), '
            'corpus.clear_runs(integer), corpus.count_range(integer, bigint, bigint), '
            'corpus.drop_run(integer), corpus.finish_run(integer), corpus.forget_grains(integer, integer), '
            'corpus.invalidate_all(), '
            'corpus.invalidate_scope(integer, integer), corpus.keep_range(integer, bigint, bigint), '
            'corpus.next_width(bigint, interval), corpus.open_corpus(text), '
            'corpus.open_service(text), corpus.populate_scope(integer, integer, text), '
            'corpus.put_tasks(integer, integer, text[], integer[]), '
            'corpus.refresh_slice(integer, integer, text) to %I',
            v_role
        );
        if current_setting('server_version_num')::integer >= 170000 then
            execute format('grant maintain on all tables in schema corpus to %I', v_role);
        end if;
    end loop;
end;
$$;
