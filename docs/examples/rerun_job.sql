select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.cancel_job(job => :'job');
-- Example
select created from cortex.rerun_job(job => :'job', actor => 'bob');
select cortex.rerun_job(job => '00000000-0000-0000-0000-000000000000');
