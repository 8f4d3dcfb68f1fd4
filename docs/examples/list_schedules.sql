select name, schedule, kind, active, next_run_at from cortex.list_schedules();
