-- Note what each task of a range adds to the counts of a run, and count the range from that.
--
-- Called by   the bodies of kind populate_report; each range once
-- Returns     tasks noted: those with a message
-- Raises      55000 the run is not counting any more
-- Locks       names that are new, until commit

create or replace function corpus.keep_range(run integer, first_task bigint, last_task bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
set enable_mergejoin = off
set enable_sort = off
set hash_mem_multiplier = 2
set work_mem = '32MB'
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    -- So few that what they need fits into memory, whatever the planner thinks of it.
    v_at_once constant bigint := 5000;
    v_run constant corpus.run := corpus.require_run(run => keep_range.run);
    v_statement pg_catalog.text;
    v_first bigint := keep_range.first_task;
    v_kept bigint := 0;
    v_rows bigint;
begin
    -- Dynamic: one statement for five log tables.
    v_statement := format(
        $statement$
        with fresh as materialized (
            select
                l.task_id,
                l.category,
                l.what,
                count(*)::integer as messages
            from corpus.tasks as t
            join %s as l on l.task_id = t.id
            where t.corpus_id = $2
                and t.service_id = $3
                and t.status between $4 and $5
                and t.id between $6 and $7
                and l.task_id between $6 and $7
            group by l.task_id, l.category, l.what
        ),
        new_name as (
            insert into corpus.grain_name (category, what)
            select
                f.category,
                f.what
            from fresh as f
            where not exists (
                select
                from corpus.grain_name as n
                where (n.category is null) = (f.category is null)
                    and coalesce(n.category, '') = coalesce(f.category, '')
                    and (n.what is null) = (f.what is null)
                    and coalesce(n.what, '') = coalesce(f.what, '')
            )
            group by f.category, f.what
            order by f.category collate "C", f.what collate "C"
            on conflict (
                (category is null), (coalesce(category, '')), (what is null), (coalesce(what, ''))
            ) do update
            set category = excluded.category
            returning id, category, what
        ),
        name as (
            select n.id, n.category, n.what from corpus.grain_name as n
            union all
            select n.id, n.category, n.what from new_name as n
        ),
        kept as (
            insert into corpus.kept_task (run, task_id, names, messages)
            select
                $1,
                f.task_id,
                array_agg(n.id),
                case when max(f.messages) > 1 then array_agg(f.messages) end
            from fresh as f
            join name as n
                on (n.category is null) = (f.category is null)
                and coalesce(n.category, '') = coalesce(f.category, '')
                and (n.what is null) = (f.what is null)
                and coalesce(n.what, '') = coalesce(f.what, '')
            group by f.task_id
        ),
        task as materialized (
            select
                f.task_id,
                f.category,
                sum(f.messages) as messages
            from fresh as f
            group by f.task_id, f.category
        ),
        part as (
            insert into corpus.part (run, grain, category, task_count, message_count)
            select $1, 'category'::corpus.grain, t.category, count(*), sum(t.messages)
            from task as t
            group by t.category
            union all
            select $1, 'total'::corpus.grain, null, count(distinct t.task_id), sum(t.messages)
            from task as t
            having count(*) > 0
        )
        select count(distinct t.task_id)
        from task as t
        $statement$,
        corpus.severity_log(severity => v_run.severity)
    );

    while v_first <= keep_range.last_task loop
        execute v_statement
        into v_rows
        using
            v_run.id,
            v_run.corpus_id,
            v_run.service_id,
            (select s.lowest from corpus.severities() as s where s.severity = v_run.severity),
            (select s.highest from corpus.severities() as s where s.severity = v_run.severity),
            v_first,
            least(v_first + v_at_once - 1, keep_range.last_task);
        v_kept := v_kept + v_rows;
        v_first := v_first + v_at_once;
    end loop;

    insert into corpus.part (run, grain, category, what, task_count, message_count)
    select
        v_run.id,
        'what',
        n.category,
        n.what,
        c.task_count,
        c.message_count
    from (
        select
            u.name,
            count(*) as task_count,
            sum(coalesce(u.messages, 1)) as message_count
        from corpus.kept_task as k
        cross join unnest(k.names, k.messages) as u (name, messages)
        where k.run = v_run.id
            and k.task_id between keep_range.first_task and keep_range.last_task
        group by u.name
    ) as c
    join corpus.grain_name as n on n.id = c.name;

    return v_kept;
end;
$$;

comment on function corpus.keep_range(integer, bigint, bigint) is
'Notes what each task of a range adds to the counts of a run.';
