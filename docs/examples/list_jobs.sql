select uuid as job from cortex.spawn_job('nightly_export', actor => 'ada') \gset
select cortex.spawn_job('nightly_export', actor => 'ben');
select cortex.spawn_job('thumbnail', params => '{"page": 1}');
-- Example
select kind, status, actor
from cortex.list_jobs(kinds => '{nightly_export}', statuses => '{queued,running}', max_rows => 10);
