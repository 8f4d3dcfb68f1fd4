select * from cortex.maintain();
