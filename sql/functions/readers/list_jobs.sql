-- Jobs that match, newest first, a page at a time.
--
-- A page begins behind the job whose created_at and uuid are given. Neither ever changes, and together they
-- are unique: whatever comes, changes or is deleted meanwhile, no page repeats a job or leaves one out.
--
-- Returns     at most so many rows, newest first, of one moment by uuid; null filters nothing. The first page
--             closes first what only looks alive, as list_recent does
-- Raises      22023 negative number of rows, or only one half of where to begin
-- Locks       the rows that it closes

create or replace function cortex.list_jobs(
    kinds text[] default null,
    statuses cortex.job_status[] default null,
    actor text default null,
    scope jsonb default null,
    since timestamptz default null,
    after_created_at timestamptz default null,
    after_uuid uuid default null,
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
    v_statuses constant cortex.job_status[] := coalesce(
        list_jobs.statuses, enum_range(null::cortex.job_status)
    );
    v_query pg_catalog.text := 'select j.uuid, j.created_at from cortex.job as j where true';
    v_order constant pg_catalog.text := ' order by j.created_at desc, j.uuid desc limit $8';
    v_page pg_catalog.uuid[];
begin
    if list_jobs.max_rows < 0 then
        raise exception 'max_rows is %', list_jobs.max_rows
            using errcode = '22023', hint = 'Give a number of rows from 0 up.';
    end if;
    if (list_jobs.after_created_at is null) <> (list_jobs.after_uuid is null) then
        raise exception 'only one of after_created_at and after_uuid is given'
            using errcode = '22023', hint = 'Give both, of the last job of the page before.';
    end if;

    if list_jobs.after_uuid is null and current_setting('transaction_read_only') = 'off' then
        begin
            perform cortex.reap_orphans();
            perform cortex.reap_stale();
            perform cortex.reap_overdue();
        exception when serialization_failure then
            null; -- as in list_recent
        end;
    end if;

    if list_jobs.actor is not null then
        v_query := v_query || ' and j.actor = $3';
    end if;
    if list_jobs.scope is not null then
        v_query := v_query || ' and j.debounce_scope::pg_catalog.jsonb = $4';
    end if;
    if list_jobs.since is not null then
        v_query := v_query || ' and j.created_at >= $5';
    end if;
    if list_jobs.after_uuid is not null then
        v_query := v_query || ' and j.created_at <= $6 and (j.created_at, j.uuid) < ($6, $7)';
    end if;

    -- Each kind and status has its place in an index from which its newest come at once; a page is made of
    -- the best of them. One condition for all of them would be sorted whole.
    if list_jobs.kinds is not null then
        v_query := 'select j.uuid, j.created_at from (select distinct k from unnest($1) as k) as kinds'
            || ' cross join (select distinct s from unnest($2) as s) as statuses cross join lateral ('
            || v_query || ' and j.kind = kinds.k and j.status = statuses.s' || v_order || ') as j';
    elsif list_jobs.statuses is not null then
        v_query := 'select j.uuid, j.created_at from (select distinct s from unnest($2) as s) as statuses'
            || ' cross join lateral (' || v_query || ' and j.status = statuses.s' || v_order || ') as j';
    end if;

    -- Dynamic, so that each choice of filters is planned for what it is, with its values.
    execute 'select array(select j.uuid from (' || v_query || v_order || ') as j)'
    into v_page
    using
        list_jobs.kinds,
        v_statuses,
        list_jobs.actor,
        list_jobs.scope,
        list_jobs.since,
        list_jobs.after_created_at,
        list_jobs.after_uuid,
        coalesce(list_jobs.max_rows, 50);

    return query
    select j.*
    from unnest(v_page) with ordinality as page (uuid, place)
    join cortex.jobs as j on j.uuid = page.uuid
    order by page.place;
end;
$$;

comment on function cortex.list_jobs(
    text[], cortex.job_status[], text, jsonb, timestamptz, timestamptz, uuid, integer
) is
'Jobs of these kinds, statuses, this actor and scope, newest first, a page at a time.';
