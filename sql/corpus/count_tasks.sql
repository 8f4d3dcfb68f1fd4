-- Count the messages of one severity over a range of tasks, at three grains.
--
-- The counts are those of count(distinct task) and count(*) over rollup (category, what). They are taken in blocks
-- of 1,024 tasks: within one a task is a bit, so that no messages are sorted, and what is added up in the end is
-- a row per name and block. A task lies in one block, so blocks add up, and so do ranges of tasks.
--
-- The planner is held to that: its numbers are of no use right after a load, and a sort or a hash of all
-- messages spills.
--
-- Called by   corpus.populate_scope, corpus.count_range
-- Returns     the rows that are not empty; none where no task has a message

create or replace function corpus.count_tasks(
    corpus_id integer,
    service_id integer,
    severity text,
    first_task bigint,
    last_task bigint,
    dense boolean
)
returns table (
    grain corpus.grain,
    category text,
    what text,
    task_count bigint,
    message_count bigint
)
language plpgsql
volatile
security definer
set search_path = ''
set enable_sort = off
set enable_hashjoin = off
set enable_mergejoin = on
set enable_nestloop = on
set hash_mem_multiplier = 8
set max_parallel_workers_per_gather = 0
set jit = off
as $$
begin
    -- Restored at the end, as all settings above are.
    -- Most of the range: both sides in the order of tasks, side by side. Else task by task. (The blocks are
    -- gone through in a nested loop either way, there is no other.)
    perform set_config('enable_nestloop', case when count_tasks.dense then 'off' else 'on' end, true);
    perform set_config('enable_mergejoin', case when count_tasks.dense then 'on' else 'off' end, true);

    -- Dynamic: one statement for five log tables.
    return query execute format(
        $statement$
        with block as (
            select
                min(s.id) as first_task,
                max(s.id) as last_task
            from (
                select
                    t.id,
                    (row_number() over (order by t.id) - 1) / 1024 as number
                from corpus.tasks as t
                where t.corpus_id = $1
                    and t.service_id = $2
                    and t.status between $3 and $4
                    and t.id between $5 and $6
            ) as s
            group by s.number
        )
        select
            case p.rolled_up when 0 then 'what' when 1 then 'category' else 'total' end::corpus.grain,
            p.category,
            p.what,
            sum(p.tasks),
            sum(p.messages)::bigint
        from block as b
        cross join lateral (
            select
                grouping(l.category, l.what) as rolled_up,
                l.category,
                l.what,
                corpus.count_marked(t.place, 1)::integer as tasks,
                count(*) as messages
            from (
                select
                    t.id,
                    (row_number() over (order by t.id) - 1)::integer as place
                from corpus.tasks as t
                where t.corpus_id = $1
                    and t.service_id = $2
                    and t.status between $3 and $4
                    and t.id between b.first_task and b.last_task
            ) as t
            join %s as l on l.task_id = t.id
            where l.task_id between b.first_task and b.last_task
            group by grouping sets ((l.category, l.what), (l.category), ())
        ) as p
        where p.tasks > 0
        group by p.rolled_up, p.category, p.what
        $statement$,
        corpus.severity_log(severity => count_tasks.severity)
    )
    using
        count_tasks.corpus_id,
        count_tasks.service_id,
        (select s.lowest from corpus.severities() as s where s.severity = count_tasks.severity),
        (select s.highest from corpus.severities() as s where s.severity = count_tasks.severity),
        count_tasks.first_task,
        count_tasks.last_task;
end;
$$;

comment on function corpus.count_tasks(integer, integer, text, bigint, bigint, boolean) is
'Counts the messages of one severity over a range of tasks.';
