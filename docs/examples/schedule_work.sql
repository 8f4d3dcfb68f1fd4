select cortex.schedule_work();  -- on a server without pg_cron
