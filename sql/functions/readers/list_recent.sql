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
begin
    if list_recent.max_rows < 0 then
        raise exception 'max_rows is %', list_recent.max_rows
            using errcode = '22023', hint = 'Give a number of rows from 0 up.';
    end if;

    if current_setting('transaction_read_only') = 'off' then
        perform cortex.reap_orphans();
        perform cortex.reap_stale();
    end if;

    if coalesce(list_recent.active_only, false) then
        return query
        select j.*
        from cortex.jobs as j
        join (
            select
                a.uuid,
                a.created_at,
                a.id
            from cortex.job as a
            where a.status in ('queued', 'running')
            order by a.created_at desc, a.id desc
            limit coalesce(list_recent.max_rows, 50)
        ) as newest on newest.uuid = j.uuid
        order by newest.created_at desc, newest.id desc;
    else
        return query
        select j.*
        from cortex.jobs as j
        join (
            select
                a.uuid,
                a.created_at,
                a.id
            from cortex.job as a
            order by a.created_at desc, a.id desc
            limit coalesce(list_recent.max_rows, 50)
        ) as newest on newest.uuid = j.uuid
        order by newest.created_at desc, newest.id desc;
    end if;
end;
$$;

comment on function cortex.list_recent(boolean, integer) is
'The newest jobs, or the newest active ones; zombies are closed first.';
