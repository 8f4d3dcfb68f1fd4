select cortex.configure_kind('nightly_export', stale_after => '8 hours', max_attempts => 3);
select kind, stale_after, max_attempts from cortex.kinds;
select cortex.configure_kind('nightly_export', reset => '{stale_after}');
