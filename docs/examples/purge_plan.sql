select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.finish_job(job => :'job', status => 'succeeded');
update cortex.job set created_at = created_at - interval '1 year', started_at = started_at - interval '1 year', finished_at = finished_at - interval '1 year' where uuid = :'job';
-- Example
select kind, status, jobs from cortex.purge_plan(older_than => '90 days');
