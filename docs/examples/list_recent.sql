select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.set_running(job => :'job', runner => :'runner');
select cortex.step(job => :'job', current => 3, total => 9, message => 'page 3');
select cortex.spawn_job('thumbnail', params => '{"page": 1}');
-- Example
select kind, status, progress_current as done, progress_total as total, message
from cortex.list_recent(active_only => true, max_rows => 10);
