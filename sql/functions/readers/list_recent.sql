-- The newest jobs, after closing those that only look alive.
--
-- Returns     at most so many rows, newest first; on a standby and in a read-only transaction without
--             the closing
-- Raises      22023 negative number of rows
-- Locks       the rows that it closes

create or replace function cortex.list_recent(
    active_only boolean default false,
    max_rows integer default 50
)
returns setof cortex.jobs
language plpgsql
volatile
security definer
set search_path = ''
rows 50
as $$
declare
    v_newest pg_catalog.uuid[];
begin
    if list_recent.max_rows < 0 then
        raise exception 'max_rows is %', list_recent.max_rows
            using errcode = '22023', hint = 'Give a number of rows from 0 up.';
    end if;

    if current_setting('transaction_read_only') = 'off' then
        begin
            perform cortex.reap_orphans();
            perform cortex.reap_stale();
            perform cortex.reap_overdue();
        exception when serialization_failure then
            null; -- a job has changed since the snapshot, which shows it as it was: no reason not to look
        end;
    end if;

    if coalesce(list_recent.active_only, false) then
        v_newest := array(
            select j.uuid
            from cortex.job as j
            where j.status in ('queued', 'running')
            order by j.created_at desc, j.id desc
            limit coalesce(list_recent.max_rows, 50)
        );
    else
        v_newest := array(
            select j.uuid
            from cortex.job as j
            order by j.created_at desc, j.id desc
            limit coalesce(list_recent.max_rows, 50)
        );
    end if;

    return query
    select j.*
    from unnest(v_newest) with ordinality as newest (uuid, place)
    join cortex.jobs as j on j.uuid = newest.uuid
    order by newest.place;
end;
$$;

comment on function cortex.list_recent(boolean, integer) is
'The newest jobs, or the newest active ones; zombies are closed first.';
