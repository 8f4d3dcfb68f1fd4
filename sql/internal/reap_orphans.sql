-- End every active job whose runner is gone.
--
-- Called by   maintain, list_recent
-- Returns     how many it ended

create or replace function cortex.reap_orphans()
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_candidates bigint[];
begin
    select array_agg(j.id)
    into v_candidates
    from cortex.job as j
    where j.status in ('queued', 'running')
        and j.runner in (
            select r.uuid
            from cortex.runners as r
            where r.uuid in (
                select o.runner
                from cortex.job as o
                where o.status in ('queued', 'running')
                    and o.runner is not null
            )
            and not r.alive
        );

    if v_candidates is null then
        return 0;
    end if;
    return cortex.interrupt_abandoned(candidates => v_candidates);
end;
$$;

comment on function cortex.reap_orphans() is
'Interrupts every active job whose runner is gone.';
