select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select count(*) from cortex.spawn_jobs('thumbnail', array['{}', '{}', '{}']::jsonb[]);
select uuid from cortex.spawn_job('thumbnial');
select count(*) from cortex.claim_jobs(runner => :'runner', kinds => '{thumbnail}');
-- Example
select kind, ready, workers from cortex.waiting order by kind;
