select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
-- Example
select cortex.step(job => :'job', current => 3, total => 9, message => 'page 3');
select cortex.cancel_job(job => :'job', actor => 'bob');
select cortex.step(job => :'job', current => 4, total => 9, message => 'page 4');
