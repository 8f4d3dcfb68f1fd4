select created from cortex.spawn_reindex(actor => 'ada', tables => '{corpus.tasks, corpus.log_errors}');
select created from cortex.spawn_reindex(actor => 'bob');
