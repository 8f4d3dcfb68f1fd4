-- Change the defaults for every kind, and the rhythm of runners.
--
-- Called by   an operator
-- Raises      22023 a combination that can't work, with both values

create or replace function cortex.configure(
    stale_after interval default null,
    keep interval default null,
    runner_beat interval default null,
    runner_grace interval default null
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

    v_settings.stale_after := coalesce(configure.stale_after, v_settings.stale_after);
    v_settings.keep := coalesce(configure.keep, v_settings.keep);
    v_settings.runner_beat := coalesce(configure.runner_beat, v_settings.runner_beat);
    v_settings.runner_grace := coalesce(configure.runner_grace, v_settings.runner_grace);

    if v_settings.stale_after <= '0' or v_settings.keep < '0' or v_settings.runner_beat <= '0' then
        raise exception 'stale_after % and runner_beat % must be above zero, keep % not below',
            v_settings.stale_after, v_settings.runner_beat, v_settings.keep
            using errcode = '22023', hint = 'Give spans of time such as ''2 hours''.';
    end if;
    if v_settings.runner_grace < v_settings.runner_beat * 3 then
        raise exception 'a runner_grace of % is less than three beats of %',
            v_settings.runner_grace, v_settings.runner_beat
            using errcode = '22023', hint = 'One or two lost beats must not look like a death.';
    end if;

    update cortex.settings as s
    set stale_after = v_settings.stale_after,
        keep = v_settings.keep,
        runner_beat = v_settings.runner_beat,
        runner_grace = v_settings.runner_grace;
end;
$$;

comment on function cortex.configure(interval, interval, interval, interval) is
'Sets defaults and the rhythm of runners; what is left out stays.';
