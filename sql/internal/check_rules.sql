-- Refuse settings that can't work.
--
-- Called by   configure, configure_kind
-- Raises      22023 naming the values that don't go together, and the kind if they are not everybody's

create or replace function cortex.check_rules(rules cortex.settings, kind text)
returns void
language plpgsql
immutable
set search_path = ''
as $$
declare
    v_of constant pg_catalog.text := case
        when check_rules.kind is null then ''
        else format('kind %s: ', check_rules.kind)
    end;
    v_longest pg_catalog.record;
begin
    if least(
        rules.stale_after, rules.run_timeout, rules.queue_timeout, rules.runner_beat
    ) <= '0'
    then
        raise exception
            '%stale_after %, run_timeout %, queue_timeout % and runner_beat % must be above zero',
            v_of, rules.stale_after, rules.run_timeout, rules.queue_timeout, rules.runner_beat
            using errcode = '22023', hint = 'Give spans of time such as ''2 hours''.';
    end if;
    if least(rules.keep, rules.cancel_grace, rules.backoff) < '0' then
        raise exception '%keep %, cancel_grace % and backoff % must not be below zero',
            v_of, rules.keep, rules.cancel_grace, rules.backoff
            using errcode = '22023', hint = 'Give spans of time such as ''90 days''.';
    end if;
    select
        s.name,
        s.span
    into v_longest
    from (
        values
            ('stale_after', rules.stale_after),
            ('run_timeout', rules.run_timeout),
            ('queue_timeout', rules.queue_timeout),
            ('backoff', rules.backoff),
            ('backoff_limit', rules.backoff_limit),
            ('keep', rules.keep),
            ('cancel_grace', rules.cancel_grace),
            ('runner_grace', rules.runner_grace)
    ) as s (name, span)
    where s.span > interval '10000 years'
    limit 1;

    if found then
        raise exception '%a % of % is above 10000 years', v_of, v_longest.name, v_longest.span
            using errcode = '22023',
            hint = 'As long is for ever; what has no limit at first is without one again by reset.';
    end if;
    if rules.runner_beat > interval '1 day' then
        raise exception '%a runner_beat of % is longer than a day', v_of, rules.runner_beat
            using errcode = '22023', hint = 'A runner that beats so seldom would be missed too late.';
    end if;
    if least(rules.max_attempts, rules.max_running) < 1 then
        raise exception '%max_attempts % and max_running % must be at least 1',
            v_of, rules.max_attempts, rules.max_running
            using errcode = '22023', hint = 'Leave max_running out for no limit.';
    end if;
    if rules.runner_grace < rules.runner_beat * 3 then
        raise exception '%a runner_grace of % is less than three beats of %',
            v_of, rules.runner_grace, rules.runner_beat
            using errcode = '22023', hint = 'One or two lost beats must not look like a death.';
    end if;
    if rules.backoff > rules.backoff_limit then
        raise exception '%a backoff of % is above its limit of %',
            v_of, rules.backoff, rules.backoff_limit
            using errcode = '22023', hint = 'Raise backoff_limit with configure, or lower backoff.';
    end if;
    if rules.on_interrupt = 'requeue' and rules.max_attempts = 1 then
        raise exception '%on_interrupt % with max_attempts % can never try again',
            v_of, rules.on_interrupt, rules.max_attempts
            using errcode = '22023',
            hint = 'Set max_attempts above 1; a job that kills its process must not run for ever.';
    end if;
end;
$$;

comment on function cortex.check_rules(cortex.settings, text) is
'Raises unless these settings can work together.';
