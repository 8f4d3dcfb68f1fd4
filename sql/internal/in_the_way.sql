-- Who a REINDEX CONCURRENTLY or ANALYZE of a table would have to wait for at this moment.
--
-- Called by   maintenance_plan
-- Returns     sessions that hold a lock which conflicts with theirs on the table; with snapshots also those whose
--             transaction is older than a minute, and those that hold any lock on the table in an idle
--             transaction. More than the pid only where the login that asks may see it in pg_stat_activity

create or replace function cortex.in_the_way(relation oid, snapshots boolean)
returns text[]
language sql
stable
set search_path = ''
as $$
    select coalesce(array_agg(s.words order by s.xact_start, s.pid), '{}')
    from (
        select
            a.pid,
            a.xact_start,
            case
                when pg_has_role(session_user, 'pg_read_all_stats', 'usage')
                    or pg_has_role(session_user, a.usesysid, 'usage')
                    then format(
                        'session %s (%s)',
                        a.pid,
                        concat_ws(
                            ', ',
                            coalesce(
                                nullif(a.application_name, ''), nullif(a.backend_type, 'client backend')
                            ),
                            a.state,
                            to_char(
                                a.xact_start at time zone 'UTC', '"since" YYYY-MM-DD HH24:MI:SS "UTC"'
                            )
                        )
                    )
                else format('session %s', a.pid)
            end as words
        from pg_catalog.pg_stat_activity as a
        where a.datname = current_database()
            and a.pid <> pg_backend_pid()
            and (
                exists (
                    select
                    from pg_catalog.pg_locks as l
                    where l.pid = a.pid
                        and l.locktype = 'relation'
                        and l.relation = in_the_way.relation
                        and l.granted
                        and (
                            l.mode in (
                                'ShareUpdateExclusiveLock', 'ShareLock', 'ShareRowExclusiveLock',
                                'ExclusiveLock', 'AccessExclusiveLock'
                            )
                            or in_the_way.snapshots
                            and a.state like 'idle in transaction%'
                        )
                )
                or in_the_way.snapshots
                and a.xact_start < clock_timestamp() - interval '1 minute'
            )
    ) as s;
$$;

comment on function cortex.in_the_way(oid, boolean) is
'Sessions that a reindex or analyze of a table would wait for.';
