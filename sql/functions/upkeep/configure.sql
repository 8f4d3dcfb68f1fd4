-- Change the defaults for every kind, and the rhythm of runners; what is left out stays as it is.
--
-- Called by   an operator
-- Raises      22023 an unknown name in reset, or values that don't go together, by name; nothing changes
-- Locks       the row of settings, also against configure_kind

create or replace function cortex.configure(
    stale_after interval default null,
    run_timeout interval default null,
    queue_timeout interval default null,
    max_attempts integer default null,
    backoff interval default null,
    backoff_limit interval default null,
    on_interrupt cortex.interrupt_policy default null,
    max_running integer default null,
    keep interval default null,
    cancel_grace interval default null,
    runner_beat interval default null,
    runner_grace interval default null,
    reset text[] default null
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_settings cortex.settings;
begin
    select s.* into v_settings from cortex.settings as s for update;
    v_settings := jsonb_populate_record(
        v_settings,
        cortex.reset_values(relation => 'cortex.settings', names => configure.reset)
    );

    v_settings.stale_after := coalesce(configure.stale_after, v_settings.stale_after);
    v_settings.run_timeout := coalesce(configure.run_timeout, v_settings.run_timeout);
    v_settings.queue_timeout := coalesce(configure.queue_timeout, v_settings.queue_timeout);
    v_settings.max_attempts := coalesce(configure.max_attempts, v_settings.max_attempts);
    v_settings.backoff := coalesce(configure.backoff, v_settings.backoff);
    v_settings.backoff_limit := coalesce(configure.backoff_limit, v_settings.backoff_limit);
    v_settings.on_interrupt := coalesce(configure.on_interrupt, v_settings.on_interrupt);
    v_settings.max_running := coalesce(configure.max_running, v_settings.max_running);
    v_settings.keep := coalesce(configure.keep, v_settings.keep);
    v_settings.cancel_grace := coalesce(configure.cancel_grace, v_settings.cancel_grace);
    v_settings.runner_beat := coalesce(configure.runner_beat, v_settings.runner_beat);
    v_settings.runner_grace := coalesce(configure.runner_grace, v_settings.runner_grace);

    perform cortex.check_rules(rules => v_settings, kind => null);

    update cortex.settings as s
    set stale_after = v_settings.stale_after,
        run_timeout = v_settings.run_timeout,
        queue_timeout = v_settings.queue_timeout,
        max_attempts = v_settings.max_attempts,
        backoff = v_settings.backoff,
        backoff_limit = v_settings.backoff_limit,
        on_interrupt = v_settings.on_interrupt,
        max_running = v_settings.max_running,
        keep = v_settings.keep,
        cancel_grace = v_settings.cancel_grace,
        runner_beat = v_settings.runner_beat,
        runner_grace = v_settings.runner_grace;

    -- A kind that leans on a default must still make sense.
    perform cortex.check_rules(rules => cortex.rules(kind => k.name), kind => k.name)
    from cortex.kind as k;
end;
$$;

comment on function cortex.configure(
    interval, interval, interval, integer, interval, interval, cortex.interrupt_policy, integer,
    interval, interval, interval, interval, text[]
) is
'Sets defaults and the rhythm of runners; reset names those that go back to what they were at first.';
