select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
-- Example
select cortex.begin_body(job => :'job', attempt => 1);
select cortex.begin_body(job => :'job', attempt => 1);
