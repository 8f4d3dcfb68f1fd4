-- Which kinds a runner takes from the queue, so that a kind that nobody takes can be told from one whose
-- workers are busy.

alter table cortex.runner add column kinds text[];

comment on column cortex.runner.kinds is
'The kinds that it last asked for with claim_jobs, sorted; null for a runner of its own jobs only.';
