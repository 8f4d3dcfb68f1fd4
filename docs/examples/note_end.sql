select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.interrupt_orphans(runner => :'runner');
-- Example
select cortex.note_end(job => :'job', note => 'its process was ended by SIGTERM', attempt => 1);
select status, message from cortex.find_job(job => :'job');
