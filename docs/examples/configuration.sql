select stale_after, max_attempts, backoff, keep, runner_beat, runner_grace from cortex.configuration;
