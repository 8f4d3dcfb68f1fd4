select cortex.configure_kind('thumbnail', max_running => 2);
-- Example
select kind, stale_after, max_attempts, max_running from cortex.kinds;
