select cortex.schedule_job('nightly export', '0 3 * * *', 'export', params => '{"format": "csv"}');
