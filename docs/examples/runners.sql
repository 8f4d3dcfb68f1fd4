select cortex.register_runner('exporter', 'blade7', 4711) as runner \gset
-- Example
select name, host, pid, alive from cortex.runners where retired_at is null;
