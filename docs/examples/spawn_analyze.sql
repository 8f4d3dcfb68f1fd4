select created from cortex.spawn_analyze(tables => '{nosuch}');
select created from cortex.spawn_analyze(actor => 'ada');
