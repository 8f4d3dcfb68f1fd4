call cortex.work(max_jobs => 10);  -- in a transaction, as it must not be
