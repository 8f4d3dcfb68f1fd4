select cortex.spawn_jobs('thumbnail', params => array['{}', '{}', '{}']::jsonb[]);
-- Example
select cortex.count_recent_with_status('queued', hours => 1);
