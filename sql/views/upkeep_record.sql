-- When upkeep last ran.

create or replace view cortex.upkeep_record as
select
    u.last_run_at,
    u.last_role,
    u.stale,
    u.overdue,
    u.orphaned,
    u.purged
from cortex.upkeep as u;

comment on view cortex.upkeep_record is
'The last run of cortex.maintain() and what it did; one row.';
