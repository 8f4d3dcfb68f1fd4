select cortex.spawn_report_populate(1, 1, 'error');
-- Example
select cortex.report_populate_active(corpus_id => 1, service_id => 1, severity => 'error');
