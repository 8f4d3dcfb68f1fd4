select created from cortex.spawn_reindex(actor => 'ada', tables => '{corpus.tasks, corpus.log_errors}', lock_timeout => '5 minutes');
select created from cortex.spawn_reindex(actor => 'bob');
select params ->> 'lock_timeout' as waits, params ->> 'statement_timeout' as works from cortex.list_recent();
