select created from cortex.spawn_report_refresh(actor => 'ada');
