select kind, procedure, run_as, commits from cortex.sql_kinds;
