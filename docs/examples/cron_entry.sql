select cortex.cron_entry();
