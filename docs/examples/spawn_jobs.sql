select * from cortex.spawn_jobs('thumbnail', params => array['{"page": 1}', '{"page": 2}']::jsonb[]);
