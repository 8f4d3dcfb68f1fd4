select cortex.unschedule_work();  -- on a server without pg_cron
