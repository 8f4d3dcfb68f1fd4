-- What the sessions of running jobs do at this moment, as PostgreSQL itself reports it.
--
-- Of sessions of other roles one sees what pg_stat_activity shows: without pg_read_all_stats their pid,
-- and not even when they began.

create or replace view cortex.job_activity as
select
    j.uuid as job,
    j.kind,
    j.backend_pid as pid,
    a.state,
    a.wait_event_type,
    a.wait_event,
    case
        when a.query_start is not null
            then greatest(extract(epoch from cortex.clock() - a.query_start), 0)
    end::double precision as query_seconds,
    p.command,
    p.phase,
    p.done,
    p.total
from cortex.job as j
join pg_catalog.pg_stat_activity as a
    on a.pid = j.backend_pid
    and (a.backend_start = j.backend_start or a.backend_start is null)
left join (
    select
        i.pid,
        i.command,
        i.phase,
        case when i.blocks_total > 0 then i.blocks_done else i.tuples_done end as done,
        case when i.blocks_total > 0 then i.blocks_total else nullif(i.tuples_total, 0) end as total
    from pg_catalog.pg_stat_progress_create_index as i
    union all
    select
        z.pid,
        'ANALYZE',
        z.phase,
        z.sample_blks_scanned,
        nullif(z.sample_blks_total, 0)
    from pg_catalog.pg_stat_progress_analyze as z
    union all
    select
        v.pid,
        'VACUUM',
        v.phase,
        v.heap_blks_scanned,
        nullif(v.heap_blks_total, 0)
    from pg_catalog.pg_stat_progress_vacuum as v
    union all
    select
        c.pid,
        c.command,
        c.phase,
        c.heap_blks_scanned,
        nullif(c.heap_blks_total, 0)
    from pg_catalog.pg_stat_progress_cluster as c
    union all
    select
        y.pid,
        y.command,
        y.type,
        case when y.bytes_total > 0 then y.bytes_processed else y.tuples_processed end,
        nullif(y.bytes_total, 0)
    from pg_catalog.pg_stat_progress_copy as y
) as p on p.pid = j.backend_pid
where j.status = 'running';

comment on view cortex.job_activity is
'For each running job with an attached session: what that session does, and how far it is.';
comment on column cortex.job_activity.done is
'Blocks, tuples or bytes, as the command counts them; null where it doesn''t.';
