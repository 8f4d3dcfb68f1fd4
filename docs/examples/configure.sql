select cortex.configure(stale_after => '3 hours', keep => '90 days');
select stale_after, keep from cortex.configuration;
select cortex.configure(runner_beat => '1 minute');
