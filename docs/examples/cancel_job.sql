select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
-- Example
select cortex.cancel_job(job => :'job', actor => 'bob');
select status, message from cortex.find_job(job => :'job');
