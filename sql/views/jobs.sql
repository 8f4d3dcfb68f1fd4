-- The read-only face of the jobs; every column is explained here, once.
--
-- Seconds by date_part, which gives a double at once: extract gives a numeric, at several times the cost. And one
-- look at the clock for all rows of a query: a quarter of the time of a long list.

create or replace view cortex.jobs as
select
    j.uuid,
    j.kind,
    j.status,
    case j.status
        when 'queued' then 'pending'
        when 'succeeded' then 'ok'
        else j.status::text
    end as health,
    j.progress_current,
    j.progress_total,
    j.message,
    j.actor,
    j.params::jsonb as params,
    j.result,
    j.created_at,
    j.updated_at,
    j.started_at,
    j.finished_at,
    greatest(
        coalesce(date_part('epoch', coalesce(j.finished_at, j.updated_at) - j.started_at), 0), 0
    ) as duration_seconds,
    greatest(
        date_part('epoch', (select cortex.clock()) - j.updated_at), 0
    ) as seconds_since_update,
    j.attempt,
    j.priority,
    j.run_at,
    j.debounce_scope::jsonb as debounce_scope,
    j.runner,
    j.cancel_requested_at,
    j.cancel_requested_by
from cortex.job as j;

comment on view cortex.jobs is
'All jobs, one row each, with what people ask about them.';
comment on column cortex.jobs.health is
'ok, failed, interrupted, cancelled, pending or running.';
comment on column cortex.jobs.duration_seconds is
'From start to finish, to the last sign of life while it runs; 0 before the start.';
comment on column cortex.jobs.seconds_since_update is
'Age of the last sign of life, by the clock of the database.';
comment on column cortex.jobs.cancel_requested_by is
'Who asked for its end: the actor they named, or else the role that was logged in.';
