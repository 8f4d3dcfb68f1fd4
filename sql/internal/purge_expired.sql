-- Delete finished jobs that are older than their kind says, one look at a time.
--
-- Unlike purge_jobs, which looks until it has a batch to delete, this looks at one batch of finished jobs,
-- oldest first, and goes on from there the next time: however many are to be kept longer than others, no
-- look takes long.
--
-- Called by   maintain, which lets one call in at a time
-- Returns     how many it deleted
-- Locks       the rows it deletes; skips what others have locked

create or replace function cortex.purge_expired(batch_size integer)
returns integer
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_now constant pg_catalog.timestamptz := clock_timestamp();
    v_shortest constant numeric := cortex.shortest_keep();
    v_before pg_catalog.timestamptz;
    v_seen_at pg_catalog.timestamptz;
    v_seen_id bigint;
    v_looked integer;
    v_expired bigint[];
    v_deleted integer;
begin
    if v_shortest is null then
        return 0;
    end if;
    v_before := v_now - make_interval(
        secs => least(v_shortest, extract(epoch from interval '1000 years'))
    );

    select
        coalesce(u.jobs_seen_at, '-infinity'),
        coalesce(u.jobs_seen_id, 0)
    into v_seen_at, v_seen_id
    from cortex.upkeep as u;

    with looked as materialized (
        select
            o.id,
            o.kind,
            o.finished_at
        from cortex.job as o
        where o.finished_at < v_before
            and (o.finished_at, o.id) > (v_seen_at, v_seen_id)
        order by o.finished_at, o.id
        limit purge_expired.batch_size
    )
    select
        count(*),
        max(l.finished_at),
        (array_agg(l.id order by l.finished_at desc, l.id desc))[1],
        array_agg(l.id) filter (
            where date_part('epoch', v_now - l.finished_at)
                > date_part('epoch', coalesce(k.keep, s.keep))
        )
    into v_looked, v_seen_at, v_seen_id, v_expired
    from looked as l
    left join cortex.kind as k on k.name = l.kind
    cross join cortex.settings as s;

    delete from cortex.job as j
    where j.id = any(array(
        select o.id
        from cortex.job as o
        where o.id = any(v_expired)
            and o.finished_at < v_before
        for update skip locked
    ));
    get diagnostics v_deleted = row_count;

    update cortex.upkeep as u
    set jobs_seen_at = case when v_looked = purge_expired.batch_size then v_seen_at end,
        jobs_seen_id = case when v_looked = purge_expired.batch_size then v_seen_id end;

    return v_deleted;
end;
$$;

comment on function cortex.purge_expired(integer) is
'Deletes those of one batch of finished jobs that are older than they are to be kept.';
