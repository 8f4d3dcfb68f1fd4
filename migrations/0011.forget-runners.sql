-- So that the rows of runners that are gone can go too, once no job and no event tells of them, and that
-- a look for them never reads a table of jobs from end to end.

alter table cortex.upkeep add column runners_seen_to uuid;

comment on column cortex.upkeep.runners_seen_to is
'Where the last look through the runners stopped; the next goes on from there. Null: begin anew.';

-- The jobs of one runner: those that are active for its beat, all of them for the foreign key.

drop index cortex.job_runner_idx;

create index job_runner_idx on cortex.job (runner, status)
where runner is not null;

comment on index cortex.job_runner_idx is
'keep_runner, retire_runner, interrupt_orphans: the active jobs of one runner; purge_runners: whether it has any.';

-- An attempt that failed or was interrupted may be all that a runner left of itself: the job went on
-- with another.

drop index cortex.event_interrupted_idx;

create index event_lost_idx on cortex.event (runner, at)
where to_status in ('failed', 'interrupted');

comment on index cortex.event_lost_idx is
'keep_runner: which attempts of a runner were ended without its doing; purge_runners: whether it lost any.';

-- Returns one more column from now on.
drop function if exists cortex.maintain();

-- Is told what to advise from now on.
drop function if exists cortex.require_cron();
