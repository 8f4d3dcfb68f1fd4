select cortex.unschedule_maintenance();  -- on a server without pg_cron
