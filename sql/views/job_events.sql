-- The history of every job.

create or replace view cortex.job_events as
select
    j.uuid as job,
    e.at,
    e.from_status,
    e.to_status,
    e.attempt,
    e.runner,
    e.actor,
    e.role,
    e.message,
    e.id,
    j.kind
from cortex.event as e
join cortex.job as j on j.id = e.job_id;

comment on view cortex.job_events is
'One row per change of state: who started it, what happened, when.';
comment on column cortex.job_events.id is
'Grows; events of one job in their order. What is committed later may have the lower number.';
