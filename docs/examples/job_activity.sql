select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.attach_backend(job => :'job');
-- Example
select kind, state, wait_event, command, phase, done, total from cortex.job_activity;
