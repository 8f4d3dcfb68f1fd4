-- Say what one kind of job does otherwise than the settings.
--
-- Called by   an operator
-- Raises      22004 kind is null, 22023 a bad kind or span of time

create or replace function cortex.configure_kind(
    kind text,
    stale_after interval default null,
    keep interval default null
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    perform cortex.check_spawn(
        kind => configure_kind.kind, actor => '', params => '{}', debounce_scope => null, run_at => null
    );
    if configure_kind.stale_after <= '0' or configure_kind.keep < '0' then
        raise exception 'stale_after % must be above zero, keep % not below',
            configure_kind.stale_after, configure_kind.keep
            using errcode = '22023', hint = 'Give spans of time such as ''2 hours''.';
    end if;

    insert into cortex.kind as k (name, stale_after, keep)
    values (configure_kind.kind, configure_kind.stale_after, configure_kind.keep)
    on conflict (name) do update
    set stale_after = coalesce(excluded.stale_after, k.stale_after),
        keep = coalesce(excluded.keep, k.keep);
end;
$$;

comment on function cortex.configure_kind(text, interval, interval) is
'Sets what one kind does otherwise than the settings; what is left out stays.';
