select cortex.db_now();
