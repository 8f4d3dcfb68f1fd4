select * from cortex.spawn_scheduled('nightly export');
