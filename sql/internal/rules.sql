-- What holds for one kind: what it says itself, else the settings.
--
-- In plpgsql, whose plans are kept: a function in SQL that is not merged into its query is planned at each call.
--
-- Called by   everything that decides by settings, and the view cortex.kinds

create or replace function cortex.rules(kind text)
returns cortex.settings
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    v_rules cortex.settings;
begin
    select
        s.only_row,
        coalesce(k.stale_after, s.stale_after),
        coalesce(k.run_timeout, s.run_timeout),
        coalesce(k.queue_timeout, s.queue_timeout),
        coalesce(k.max_attempts, s.max_attempts),
        coalesce(k.backoff, s.backoff),
        s.backoff_limit,
        coalesce(k.on_interrupt, s.on_interrupt),
        coalesce(k.max_running, s.max_running),
        coalesce(k.keep, s.keep),
        s.cancel_grace,
        s.runner_beat,
        s.runner_grace
    into v_rules
    from cortex.settings as s
    left join cortex.kind as k on k.name = rules.kind;

    return v_rules;
end;
$$;

comment on function cortex.rules(text) is
'The settings as they hold for one kind.';
