-- So that upkeep forgets batch by batch: finished jobs, however many of them are to be kept longer than
-- others; and runners that are gone, once no job and no event tells of them.

alter table cortex.upkeep add column jobs_seen_at timestamptz;
alter table cortex.upkeep add column jobs_seen_id bigint;
alter table cortex.upkeep add column runners_seen_to uuid;

comment on column cortex.upkeep.jobs_seen_at is
'Where the last look through the finished jobs stopped; the next goes on from there. Null: begin anew.';
comment on column cortex.upkeep.jobs_seen_id is
'The job at which it stopped, among those that ended at that moment.';
comment on column cortex.upkeep.runners_seen_to is
'Where the last look through the runners stopped; the next goes on from there. Null: begin anew.';

comment on index cortex.job_finished_idx is
'status_counts, metrics, purge_jobs, purge_expired: what ended in a window, oldest first.';

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
