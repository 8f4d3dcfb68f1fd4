-- Analyze one table, with its partitions if it has any, and tell how it went.
--
-- ANALYZE only warns where a right is missing, and a warning can't be caught here; so rights are looked at
-- before. A limit to the whole statement can't be set from within it.
--
-- Called by   run_analyze, with the rights of its caller
-- Returns     a row of the job's result: table, outcome (done, failed, skipped for want of rights; or busy:
--             another job works on this table, nothing is done), reason, seconds, bytes of its rows before and
--             after, warnings
-- Raises      57014 cancelled; whatever else goes wrong is told
-- Locks       as ANALYZE does, waiting as long as lock_timeout says; an advisory lock of this table, at once

create or replace function cortex.analyze_table(name text, lock_timeout text)
returns jsonb
language plpgsql
volatile
security invoker
set search_path = ''
as $$
declare
    v_began constant pg_catalog.timestamptz := clock_timestamp();
    v_oid pg_catalog.oid;
    v_schema pg_catalog.name;
    v_name pg_catalog.name;
    v_relkind pg_catalog.text;
    v_outcome pg_catalog.text := 'failed';
    v_reason pg_catalog.text;
    v_before bigint;
    v_after bigint;
    v_refused pg_catalog.text;
begin
    begin
        select
            c.oid,
            n.nspname,
            c.relname,
            c.relkind
        into v_oid, v_schema, v_name, v_relkind
        from pg_catalog.pg_class as c
        join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
        where array[n.nspname::pg_catalog.text, c.relname::pg_catalog.text] = parse_ident(analyze_table.name);
    exception when invalid_parameter_value then
        null; -- not a name at all
    end;

    if v_oid is null then
        v_reason := 'there is no such table any more';
    elsif v_relkind not in ('r', 'm', 'p', 'f') then
        v_reason := 'it is not a table';
    elsif not pg_try_advisory_xact_lock(
        cortex.lock_space(), cortex.maintenance_key(relation => v_oid)
    ) then
        v_outcome := 'busy';
    else
        select string_agg(t.relation_name, ', ' order by t.relation_name)
        into v_refused
        from cortex.partition_tree(relation => v_oid) as t
        join pg_catalog.pg_class as c on c.oid = t.relation_id
        where not (
            pg_has_role(c.relowner, 'usage')
            or not c.relisshared
            and pg_has_role(
                (select d.datdba from pg_catalog.pg_database as d where d.datname = current_database()),
                'usage'
            )
            -- Older servers do not know this right.
            or case
                when current_setting('server_version_num')::integer >= 170000
                    then has_table_privilege(c.oid, 'maintain')
                else false
            end
        );
        v_before := cortex.tree_bytes(relation => v_oid);

        if v_refused is not null then
            v_outcome := 'skipped';
            v_reason := format('role %s may not analyze %s', current_user, v_refused);
        else
            begin
                perform set_config('lock_timeout', analyze_table.lock_timeout, true);
                -- Dynamic: the table is data.
                execute format('analyze %I.%I', v_schema, v_name);
                v_outcome := 'done';
            exception
                when lock_not_available then
                    v_reason := format(
                        'waited longer than the lock_timeout of %s for a lock, %s s in all',
                        analyze_table.lock_timeout,
                        round(extract(epoch from clock_timestamp() - v_began)::numeric, 1)
                    ) || coalesce(
                        '; in the way is '
                        || (
                            select format(
                                'session %s (%s)',
                                a.pid,
                                concat_ws(
                                    ', ',
                                    coalesce(
                                        nullif(a.application_name, ''),
                                        nullif(a.backend_type, 'client backend')
                                    ),
                                    concat_ws(
                                        ' ',
                                        a.state,
                                        to_char(
                                            a.xact_start at time zone 'UTC',
                                            '"since" YYYY-MM-DD HH24:MI:SS "UTC"'
                                        )
                                    )
                                )
                            )
                            from pg_catalog.pg_locks as l
                            join pg_catalog.pg_stat_activity as a on a.pid = l.pid
                            where l.locktype = 'relation'
                                and l.relation = v_oid
                                and l.granted
                                and a.pid <> pg_backend_pid()
                            order by a.xact_start
                            limit 1
                        ),
                        ''
                    );
                when query_canceled then
                    raise;
                when others then
                    v_reason := sqlerrm;
            end;
        end if;
        v_after := cortex.tree_bytes(relation => v_oid);
    end if;

    return jsonb_build_object(
        'table', analyze_table.name,
        'outcome', v_outcome,
        'reason', v_reason,
        'seconds', round(extract(epoch from clock_timestamp() - v_began)::numeric, 3),
        'bytes_before', v_before,
        'bytes_after', v_after,
        'warnings', '[]'::pg_catalog.jsonb
    );
end;
$$;

comment on function cortex.analyze_table(text, text) is
'Analyzes one table as the caller, and tells how it went.';
