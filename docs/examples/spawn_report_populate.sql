select created from cortex.spawn_report_populate(corpus_id => 1, service_id => 1, severity => 'error', actor => 'ada');
