-- Say what one kind of job does otherwise than the settings; what is left out stays as it is.
--
-- Called by   an operator
-- Raises      22004 kind is null, 22023 a bad kind, an unknown name in reset, or values that don't go
--             together, by name; nothing changes
-- Locks       the row of settings against configure, then the kind's row

create or replace function cortex.configure_kind(
    kind text,
    stale_after interval default null,
    run_timeout interval default null,
    queue_timeout interval default null,
    max_attempts integer default null,
    backoff interval default null,
    on_interrupt cortex.interrupt_policy default null,
    max_running integer default null,
    keep interval default null,
    reset text[] default null
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_kind cortex.kind;
    v_rules cortex.settings;
begin
    perform cortex.check_spawn(
        kind => configure_kind.kind, actor => '', params => '{}', debounce_scope => null, run_at => null
    );

    -- What is right by the settings now must not be wrong by those that come.
    select s.* into v_rules from cortex.settings as s for share;
    insert into cortex.kind (name) values (configure_kind.kind) on conflict do nothing;

    select k.* into v_kind from cortex.kind as k where k.name = configure_kind.kind for update;
    v_kind := jsonb_populate_record(
        v_kind, cortex.reset_values(relation => 'cortex.kind', names => configure_kind.reset)
    );
    v_kind.stale_after := coalesce(configure_kind.stale_after, v_kind.stale_after);
    v_kind.run_timeout := coalesce(configure_kind.run_timeout, v_kind.run_timeout);
    v_kind.queue_timeout := coalesce(configure_kind.queue_timeout, v_kind.queue_timeout);
    v_kind.max_attempts := coalesce(configure_kind.max_attempts, v_kind.max_attempts);
    v_kind.backoff := coalesce(configure_kind.backoff, v_kind.backoff);
    v_kind.on_interrupt := coalesce(configure_kind.on_interrupt, v_kind.on_interrupt);
    v_kind.max_running := coalesce(configure_kind.max_running, v_kind.max_running);
    v_kind.keep := coalesce(configure_kind.keep, v_kind.keep);

    v_rules.stale_after := coalesce(v_kind.stale_after, v_rules.stale_after);
    v_rules.run_timeout := coalesce(v_kind.run_timeout, v_rules.run_timeout);
    v_rules.queue_timeout := coalesce(v_kind.queue_timeout, v_rules.queue_timeout);
    v_rules.max_attempts := coalesce(v_kind.max_attempts, v_rules.max_attempts);
    v_rules.backoff := coalesce(v_kind.backoff, v_rules.backoff);
    v_rules.on_interrupt := coalesce(v_kind.on_interrupt, v_rules.on_interrupt);
    v_rules.max_running := coalesce(v_kind.max_running, v_rules.max_running);
    v_rules.keep := coalesce(v_kind.keep, v_rules.keep);
    perform cortex.check_rules(rules => v_rules, kind => configure_kind.kind);

    update cortex.kind as k
    set stale_after = v_kind.stale_after,
        run_timeout = v_kind.run_timeout,
        queue_timeout = v_kind.queue_timeout,
        max_attempts = v_kind.max_attempts,
        backoff = v_kind.backoff,
        on_interrupt = v_kind.on_interrupt,
        max_running = v_kind.max_running,
        keep = v_kind.keep
    where k.name = configure_kind.kind;
end;
$$;

comment on function cortex.configure_kind(
    text, interval, interval, interval, integer, interval, cortex.interrupt_policy, integer, interval,
    text[]
) is
'Sets what one kind does otherwise than the settings; reset names what goes back to them.';
