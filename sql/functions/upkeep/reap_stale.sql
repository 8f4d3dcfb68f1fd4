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
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_shortest interval := reap_stale.older_than;
    v_candidates bigint[];
begin
    if reap_stale.older_than <= '0' then
        raise exception 'older_than is %', reap_stale.older_than
            using errcode = '22023', hint = 'Give a time above zero, or leave it out for each kind''s own.';
    end if;

    if v_shortest is null then
        v_shortest := least(
            (select s.stale_after from cortex.settings as s),
            (select min(k.stale_after) from cortex.kind as k)
        );
    end if;

    -- One look at what is active; the case keeps the planner from the index of all that ever had a runner.
    v_candidates := array(
        select j.id
        from cortex.job as j
        where j.status in ('queued', 'running')
            and case
                when j.status = 'running' or j.runner is not null
                then v_now - j.updated_at > v_shortest
                else false
            end
    );

    if v_candidates = '{}' then
        return 0;
    end if;
    return cortex.interrupt_silent(candidates => v_candidates, older_than => reap_stale.older_than);
end;
$$;

comment on function cortex.reap_stale(interval) is
'Interrupts running jobs that have been silent for longer than their kind allows, or than the given time.';
