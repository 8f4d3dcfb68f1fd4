-- Spawn a job, watch it and finish it: psql "$PYCORTEX_DATABASE_URL" -f examples/psql/job.sql
listen cortex_jobs;
select uuid as job from cortex.spawn_job('greet', actor => 'psql', params => '{"name": "Ada"}') \gset
select cortex.set_running(:'job');
select cortex.step(:'job', 1, 2, 'half way');
select cortex.finish_job(:'job', 'succeeded', result => '{"text": "Hello Ada"}');
select status, progress_current, progress_total, result from cortex.find_job(:'job');
