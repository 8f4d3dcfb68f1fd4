select created from cortex.spawn_job('nightly_export', actor => 'ada', debounce_scope => '{}');
select created from cortex.spawn_job('nightly_export', actor => 'bob', debounce_scope => '{}');
