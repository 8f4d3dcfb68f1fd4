-- The body of kind populate_report ends transactions between its ranges, which a function can't.

drop function if exists cortex.run_populate_report(uuid);
