select cortex.register_runner(name => 'exporter', host => 'blade7', pid => 4711) as runner \gset
select name, host, pid, alive from cortex.runners where uuid = :'runner';
