select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select uuid as other from cortex.spawn_job('nightly_import', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
-- Example
select verdict, refusal from cortex.step_jobs(array[:'job', :'other']::uuid[], current => '{3,1}', total => '{9,null}');
