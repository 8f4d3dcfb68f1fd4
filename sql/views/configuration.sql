-- What is set for every kind, and the rhythm of runners.

create or replace view cortex.configuration as
select
    s.stale_after,
    s.run_timeout,
    s.queue_timeout,
    s.max_attempts,
    s.backoff,
    s.backoff_limit,
    s.on_interrupt,
    s.max_running,
    s.keep,
    s.cancel_grace,
    s.runner_beat,
    s.runner_grace
from cortex.settings as s;

comment on view cortex.configuration is
'The settings in force, one row; cortex.configure changes them.';
