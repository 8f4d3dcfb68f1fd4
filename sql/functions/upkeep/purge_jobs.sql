-- Delete finished jobs that are older than anybody wants to keep them, oldest first.
--
-- Called by   an operator; maintain has a way of its own
-- Returns     how many it deleted; call again while it returns a full batch
-- Raises      22023 a negative age or a batch below one
-- Locks       the rows it deletes; skips what others have locked

create or replace function cortex.purge_jobs(
    older_than interval default null,
    batch_size integer default 10000
)
returns integer
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_shortest numeric := extract(epoch from purge_jobs.older_than);
    v_before pg_catalog.timestamptz;
    v_deleted integer;
begin
    if purge_jobs.older_than < '0' then
        raise exception 'older_than is %', purge_jobs.older_than
            using errcode = '22023', hint = 'Give an age from zero up, or leave it out for the settings.';
    end if;
    if purge_jobs.batch_size < 1 then
        raise exception 'batch_size is %', purge_jobs.batch_size
            using errcode = '22023', hint = 'Delete at least one job.';
    end if;

    if v_shortest is null then
        v_shortest := cortex.shortest_keep();
    end if;
    if v_shortest is null then
        return 0;
    end if;

    -- Ages are spans of absolute time, in seconds: a day has 24 hours in every time zone, a year is as
    -- long in every question, and no age reaches back behind the beginning of time.
    v_before := v_now - make_interval(
        secs => least(v_shortest, extract(epoch from interval '1000 years'))
    );

    -- An array, which is made once: as a subquery the planner might run it again for every row, and
    -- each time the limit would let others through.
    delete from cortex.job as j
    where j.id = any(array(
        select o.id
        from cortex.job as o
        left join cortex.kind as k on k.name = o.kind
        cross join cortex.settings as s
        where o.finished_at < v_before
            and extract(epoch from v_now - o.finished_at)
            > extract(epoch from coalesce(purge_jobs.older_than, k.keep, s.keep))
        order by o.finished_at, o.id
        limit coalesce(purge_jobs.batch_size, 10000)
        for update of o skip locked
    ));

    get diagnostics v_deleted = row_count;
    return v_deleted;
end;
$$;

comment on function cortex.purge_jobs(interval, integer) is
'Deletes one batch of finished jobs that are older than they are to be kept.';
