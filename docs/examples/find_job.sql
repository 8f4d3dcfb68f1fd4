select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
-- Example
select kind, status, health, actor, attempt from cortex.find_job(job => :'job');
