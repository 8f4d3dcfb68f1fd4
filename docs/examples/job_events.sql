select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.finish_job(job => :'job', status => 'failed', message => 'disk full');
-- Example
select from_status, to_status, attempt, message from cortex.job_events where job = :'job' order by at;
