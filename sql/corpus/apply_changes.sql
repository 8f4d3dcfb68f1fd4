-- Bring what a run has kept up to date: of each task that changed since, what it added goes and what it adds
-- now comes.
--
-- Doing it twice for a task changes nothing, so that a change may be looked at again as long as it is not
-- certain that it was seen.
--
-- Called by   corpus.finish_run, corpus.populate_scope; the slice is locked
-- Returns     false: it can't tell what changed, or so much did that to count anew is quicker; it is dropped then
-- Locks       names that are new, until commit

create or replace function corpus.apply_changes(run integer)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
set enable_mergejoin = off
set work_mem = '64MB'
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    v_run corpus.run;
    v_seen pg_catalog.record;
    v_changed bigint[];
begin
    select r.* into v_run
    from corpus.run as r
    where r.id = apply_changes.run;
    select s.* into v_seen
    from corpus.seen_now(severity => v_run.severity) as s;

    with unseen as materialized (
        select
            c.task_id,
            c.corpus_id,
            c.service_id
        from corpus.change as c
        where c.severity = v_run.severity
            and c.txid >= pg_snapshot_xmin(v_run.seen)
            -- A snapshot doesn't list the transaction that took it, and may call its changes visible.
            and case
                when c.txid = v_run.seen_by then c.id > v_run.seen_upto
                else not pg_visible_in_snapshot(c.txid, v_run.seen)
            end
            -- A number still to come is another cluster's, from which this was restored.
            and (
                c.txid < pg_snapshot_xmax(pg_current_snapshot())
                or c.txid = pg_current_xact_id_if_assigned()
            )
    )
    select case
        when exists (select from unseen as u where u.task_id is null and u.corpus_id is null) then null
        else array(
            select u.task_id
            from unseen as u
            where u.task_id is not null
                and (
                    u.corpus_id is null
                    or (u.corpus_id = v_run.corpus_id and u.service_id = v_run.service_id)
                )
            group by u.task_id
            order by u.task_id
        )
    end
    into v_changed;

    if v_changed is null
        or v_run.cluster is distinct from v_seen.cluster
        or exists (
            select
            from corpus.cleared as c
            where c.severity = v_run.severity
                and c.txid > pg_snapshot_xmin(v_run.seen)
                and c.txid < pg_snapshot_xmax(pg_current_snapshot())
        )
        or cardinality(v_changed) > greatest(1000, v_run.tasks / 2)
    then
        update corpus.run as r
        set state = 'dropped'
        where r.id = v_run.id;
        return false;
    end if;

    if v_changed <> '{}' then
        -- Dynamic: one statement for five log tables; and planned for as many tasks as there are.
        execute format(
            $statement$
            with fresh as materialized (
                select
                    l.task_id,
                    l.category,
                    l.what,
                    count(*)::integer as messages
                from corpus.tasks as t
                join %s as l on l.task_id = t.id
                where t.id = any($2)
                    and t.corpus_id = $3
                    and t.service_id = $4
                    and t.status between $5 and $6
                group by l.task_id, l.category, l.what
            ),
            new_name as (
                insert into corpus.grain_name (category, what)
                select
                    f.category,
                    f.what
                from (
                    select
                        f.category,
                        f.what
                    from fresh as f
                    group by f.category, f.what
                ) as f
                where not exists (
                    select
                    from corpus.grain_name as n
                    where (n.category is null) = (f.category is null)
                        and coalesce(n.category, '') = coalesce(f.category, '')
                        and (n.what is null) = (f.what is null)
                        and coalesce(n.what, '') = coalesce(f.what, '')
                )
                order by f.category collate "C", f.what collate "C"
                on conflict (
                    (category is null), (coalesce(category, '')), (what is null), (coalesce(what, ''))
                ) do update
                set category = excluded.category
                returning id, category, what
            ),
            -- A category goes by the number of one of its names, too.
            name as materialized (
                select
                    n.id,
                    n.category,
                    n.what,
                    min(n.id) over (partition by n.category) as category_id
                from (
                    select n.id, n.category, n.what from corpus.grain_name as n
                    union all
                    select n.id, n.category, n.what from new_name as n
                ) as n
            ),
            old as materialized (
                select
                    k.task_id,
                    k.names,
                    k.messages
                from unnest($2) as c (task_id)
                -- One look-up for each, whatever the planner thinks of this run.
                cross join lateral (
                    select
                        k.task_id,
                        k.names,
                        k.messages
                    from corpus.kept_task as k
                    where k.run = $1
                        and k.task_id = c.task_id
                    offset 0
                ) as k
            ),
            now as materialized (
                select
                    f.task_id,
                    n.id as name,
                    n.category_id,
                    f.messages
                from fresh as f
                join name as n
                    on (n.category is null) = (f.category is null)
                    and coalesce(n.category, '') = coalesce(f.category, '')
                    and (n.what is null) = (f.what is null)
                    and coalesce(n.what, '') = coalesce(f.what, '')
            ),
            before as materialized (
                select
                    o.task_id,
                    u.name,
                    n.category_id,
                    coalesce(u.messages, 1) as messages
                from old as o
                cross join unnest(o.names, o.messages) as u (name, messages)
                join name as n on n.id = u.name
            ),
            -- What is as it was cancels out here, before names are looked at.
            difference as materialized (
                select
                    s.task_id,
                    s.name,
                    s.category_id,
                    sum(s.sign) as tasks,
                    sum(s.sign * s.messages) as messages
                from (
                    select 1 as sign, w.task_id, w.name, w.category_id, w.messages from now as w
                    union all
                    select -1, b.task_id, b.name, b.category_id, b.messages from before as b
                ) as s
                group by s.task_id, s.name, s.category_id
                having sum(s.sign) <> 0 or sum(s.sign * s.messages) <> 0
            ),
            touched as materialized (
                select
                    d.task_id,
                    d.category_id,
                    sum(d.messages) as messages
                from difference as d
                group by d.task_id, d.category_id
            ),
            has as (
                select
                    t.category_id,
                    1 as sign
                from touched as t
                where exists (
                    select
                    from now as w
                    where w.task_id = t.task_id
                        and w.category_id = t.category_id
                )
                union all
                select
                    t.category_id,
                    -1
                from touched as t
                where exists (
                    select
                    from before as b
                    where b.task_id = t.task_id
                        and b.category_id = t.category_id
                )
            ),
            kept as (
                insert into corpus.kept_task as k (run, task_id, names, messages)
                select
                    $1,
                    w.task_id,
                    array_agg(w.name),
                    case when max(w.messages) > 1 then array_agg(w.messages) end
                from now as w
                where w.task_id in (select t.task_id from touched as t)
                group by w.task_id
                on conflict on constraint kept_task_pkey do update
                set names = excluded.names,
                    messages = excluded.messages
            ),
            gone as materialized (
                select o.task_id from old as o
                except
                select w.task_id from now as w
            ),
            dropped as (
                delete from corpus.kept_task as k
                using gone as g
                where k.run = $1
                    and k.task_id = g.task_id
            ),
            delta as (
                select 'what'::corpus.grain as grain, n.category, n.what, d.tasks, d.messages
                from (
                    select
                        d.name,
                        sum(d.tasks) as tasks,
                        sum(d.messages) as messages
                    from difference as d
                    group by d.name
                ) as d
                join name as n on n.id = d.name
                union all
                select 'category', n.category, null, d.tasks, d.messages
                from (
                    select
                        s.category_id,
                        sum(s.tasks) as tasks,
                        sum(s.messages) as messages
                    from (
                        select t.category_id, 0 as tasks, t.messages from touched as t
                        union all
                        select h.category_id, h.sign, 0 from has as h
                    ) as s
                    group by s.category_id
                ) as d
                join name as n on n.id = d.category_id
                union all
                select
                    'total',
                    null,
                    null,
                    (select count(distinct w.task_id) from now as w) - (select count(*) from old),
                    coalesce(sum(t.messages), 0)
                from touched as t
            )
            insert into corpus.kept_count as k (run, grain, category, what, task_count, message_count)
            select
                $1,
                d.grain,
                d.category,
                d.what,
                d.tasks,
                d.messages
            from delta as d
            on conflict (
                run, grain, (category is null), (coalesce(category, '')), (what is null), (coalesce(what, ''))
            ) do update
            set task_count = k.task_count + excluded.task_count,
                message_count = k.message_count + excluded.message_count
            $statement$,
            corpus.severity_log(severity => v_run.severity)
        )
        using
            v_run.id,
            v_changed,
            v_run.corpus_id,
            v_run.service_id,
            (select s.lowest from corpus.severities() as s where s.severity = v_run.severity),
            (select s.highest from corpus.severities() as s where s.severity = v_run.severity);

        delete from corpus.kept_count as k
        where k.run = v_run.id
            and k.task_count = 0
            and k.grain <> 'total';
    end if;

    update corpus.run as r
    set seen = v_seen.seen,
        seen_by = v_seen.seen_by,
        seen_upto = v_seen.seen_upto,
        cluster = v_seen.cluster
    where r.id = v_run.id;
    return true;
end;
$$;

comment on function corpus.apply_changes(integer) is
'Brings what a run has kept up to date; says whether it could.';
