select cortex.maintain();
-- Example
select last_run_at, stale, orphaned, purged from cortex.upkeep_record;
