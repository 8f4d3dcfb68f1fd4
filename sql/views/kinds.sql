-- What holds for each kind that says something of its own.

create or replace view cortex.kinds as
select
    k.name as kind,
    r.stale_after,
    r.run_timeout,
    r.queue_timeout,
    r.max_attempts,
    r.backoff,
    r.on_interrupt,
    r.max_running,
    r.keep
from cortex.kind as k
cross join lateral cortex.rules(kind => k.name) as r;

comment on view cortex.kinds is
'The rules in force for every configured kind; cortex.configure_kind changes them.';
