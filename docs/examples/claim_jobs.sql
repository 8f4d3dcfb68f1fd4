select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
select cortex.spawn_job('thumbnail', params => '{"page": 1}');
select cortex.spawn_job('thumbnail', params => '{"page": 2}', priority => 5);
-- Example
select kind, status, params, attempt
from cortex.claim_jobs(runner => :'runner', kinds => '{thumbnail}', max_jobs => 2);
