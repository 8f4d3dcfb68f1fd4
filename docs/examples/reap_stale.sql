select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
update cortex.job set created_at = created_at - interval '3 hours', started_at = started_at - interval '3 hours', updated_at = updated_at - interval '3 hours' where uuid = :'job';
-- Example
select cortex.reap_stale();
select status, message from cortex.find_job(job => :'job');
