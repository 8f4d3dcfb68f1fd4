select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select uuid from cortex.spawn_job('page_export');
-- Example
select queued, ready, running, failed, runners_alive from cortex.overview();
