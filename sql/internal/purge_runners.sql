-- Delete the rows of runners that have been gone for a week and that no job and no event tells of.
--
-- Looks at one batch of runners at a time, in the order of their uuids, and goes on from there the next
-- time: however many are kept for their jobs, no look takes long.
--
-- Called by   maintain, which lets one call in at a time
-- Returns     how many it deleted
-- Locks       the rows it deletes; skips what others have locked

create or replace function cortex.purge_runners(batch_size integer)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_batch pg_catalog.uuid[];
    v_deleted integer;
begin
    v_batch := array(
        select r.uuid
        from cortex.runner as r
        where r.uuid > coalesce(
                (select u.runners_seen_to from cortex.upkeep as u),
                '00000000-0000-0000-0000-000000000000'
            )
        order by r.uuid
        limit purge_runners.batch_size
    );

    delete from cortex.runner as r
    where r.uuid = any(array(
        select o.uuid
        from cortex.runner as o
        where o.uuid = any(v_batch)
            -- One question after the other for one runner at a time, the dearest last: "offset 0" keeps
            -- the planner from reading all jobs at once for it.
            and case
                when coalesce(o.retired_at, o.seen_at) > v_now - interval '168 hours' then false
                when exists (select from cortex.job as j where j.runner = o.uuid offset 0) then false
                when exists (
                    select
                    from cortex.event as e
                    where e.runner = o.uuid
                        and e.to_status in ('failed', 'interrupted')
                    offset 0
                ) then false
                else not (select g.alive from cortex.runners as g where g.uuid = o.uuid)
            end
        for update of o skip locked
    ));
    get diagnostics v_deleted = row_count;

    update cortex.upkeep as u
    set runners_seen_to = case
            when cardinality(v_batch) = purge_runners.batch_size
                then v_batch[purge_runners.batch_size]
        end;

    return v_deleted;
end;
$$;

comment on function cortex.purge_runners(integer) is
'Deletes runners of one batch that are long gone and that nothing tells of.';
