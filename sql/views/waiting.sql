-- What waits for a worker, and whether anybody takes it.

create or replace view cortex.waiting as
select
    ready_kind.kind,
    ready_kind.ready,
    ready_kind.oldest_run_at,
    (
        select count(*)
        from cortex.runners as r
        where r.retired_at is null
            and ready_kind.kind = any(r.kinds)
            and r.alive
    ) as workers
from (
    select
        j.kind,
        count(*) as ready,
        min(j.run_at) as oldest_run_at
    from cortex.job as j
    where j.status = 'queued'
        and j.runner is null
        and j.run_at <= cortex.clock()
    group by j.kind
) as ready_kind;

comment on view cortex.waiting is
'Queued jobs that anybody may take and whose time has come, one row per kind.';
comment on column cortex.waiting.ready is
'How many there are, follow-ups that wait for the job before them included.';
comment on column cortex.waiting.oldest_run_at is
'Since when the oldest could have been started.';
comment on column cortex.waiting.workers is
'How many live runners last asked for this kind; 0: nobody takes it.';
