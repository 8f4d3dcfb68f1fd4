select cortex.schedule_maintenance();  -- on a server without pg_cron
