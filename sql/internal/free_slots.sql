-- How many more jobs of a kind may run now, over all runners.
--
-- Called by   set_running, claim_jobs
-- Returns     null: any number
-- Locks       where there is a limit, the kind's advisory lock until the transaction ends, so that
--             nobody counts while somebody starts

create or replace function cortex.free_slots(kind text)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_limit integer;
begin
    select r.max_running into v_limit
    from cortex.rules(kind => free_slots.kind) as r;

    if v_limit is null then
        return null;
    end if;

    perform pg_advisory_xact_lock(cortex.lock_space() + 1, hashtext(free_slots.kind));

    return greatest(
        v_limit - (
            select count(*)
            from cortex.job as j
            where j.status = 'running'
                and j.kind = free_slots.kind
        ),
        0
    );
end;
$$;

comment on function cortex.free_slots(text) is
'How many more jobs of this kind may start; null for any number.';
