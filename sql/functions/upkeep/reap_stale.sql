-- End jobs that have not stepped for too long and are presumed hung.
--
-- Called by   maintain, list_recent; an operator
-- Returns     how many it ended
-- Raises      22023 a limit that is not above zero
-- Locks       the rows it ends, by id; skips what others have locked

create or replace function cortex.reap_stale(older_than interval default null)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_shortest interval := reap_stale.older_than;
    v_candidates bigint[];
begin
    if reap_stale.older_than <= '0' then
        raise exception 'older_than is %', reap_stale.older_than
            using errcode = '22023', hint = 'Give a time above zero, or leave it out for each kind''s own.';
    end if;

    if v_shortest is null then
        select least(s.stale_after, min(k.stale_after))
        into v_shortest
        from cortex.settings as s
        left join cortex.kind as k on true
        group by s.stale_after;
    end if;

    select array_agg(j.id)
    into v_candidates
    from cortex.job as j
    where j.status in ('queued', 'running')
        and (j.status = 'running' or j.runner is not null)
        and clock_timestamp() - j.updated_at > v_shortest;

    if v_candidates is null then
        return 0;
    end if;
    return cortex.interrupt_silent(candidates => v_candidates, older_than => reap_stale.older_than);
end;
$$;

comment on function cortex.reap_stale(interval) is
'Interrupts running jobs that have been silent for longer than their kind allows, or than the given time.';
