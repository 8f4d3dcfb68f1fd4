select cortex.unschedule_job('nightly export');
