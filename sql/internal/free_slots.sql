-- How many more jobs of a kind may run now, over all runners.
--
-- Called by   set_running, claim_jobs
-- Returns     null: any number. 0 also where somebody kept the turnstile for two seconds
-- Raises      40001 in repeatable read and serializable when jobs of the kind were started meanwhile
-- Locks       where there is a limit, the kind's row in cortex.turnstile, so that nobody counts while
--             somebody starts

create or replace function cortex.free_slots(kind text)
returns integer
language plpgsql
volatile
set search_path = ''
set lock_timeout = '2s'
as $$
declare
    v_limit integer;
begin
    select r.max_running into v_limit
    from cortex.rules(kind => free_slots.kind) as r;

    if v_limit is null then
        return null;
    end if;

    begin
        perform from cortex.turnstile as t where t.kind = free_slots.kind for no key update;
        if not found then
            insert into cortex.turnstile (kind) values (free_slots.kind) on conflict do nothing;
            perform from cortex.turnstile as t where t.kind = free_slots.kind for no key update;
        end if;
    exception when lock_not_available then
        return 0;
    end;

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
