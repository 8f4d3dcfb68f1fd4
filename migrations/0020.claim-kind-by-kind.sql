-- A claim reads the queue kind by kind, so the kind comes first: what waits of other kinds, a million jobs
-- perhaps, is not passed any more. Only what waits is in it, so it is small where the table is large.

create index job_ready_idx on cortex.job (kind, priority desc, run_at, id)
where status = 'queued' and runner is null;

comment on index cortex.job_ready_idx is
'claim_jobs, metrics: what anybody may take, kind by kind, in the order it is taken.';

drop index cortex.job_claim_idx;
