<?php // Spawn a job, watch it and finish it: php job.php, with the extension pgsql
$db = pg_connect(getenv("PYCORTEX_DATABASE_URL"));
$ask = fn(string $sql, ...$values) => pg_fetch_assoc(pg_query_params($db, $sql, $values));

pg_query($db, "listen cortex_jobs");
$job = $ask("select uuid from cortex.spawn_job('greet', 'php', $1)", '{"name": "Ada"}')["uuid"];
$ask("select cortex.set_running($1)", $job);
$ask("select cortex.step($1, 1, 2, 'half way')", $job);
$ask("select cortex.finish_job($1, 'succeeded', result => $2)", $job, '{"text": "Hello Ada"}');
while ($told = pg_get_notify($db)) echo $told["payload"], "\n";
print_r($ask("select status, progress_current, result from cortex.find_job($1)", $job));
