select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
-- Example
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.set_running(job => :'job', runner => :'runner');
