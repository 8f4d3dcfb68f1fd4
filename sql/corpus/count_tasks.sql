-- Count the messages of one severity over a range of tasks, at three grains.
--
-- The counts are those of count(distinct task) and count(*) over rollup (category, what). They are taken task
-- by task: within one task each (category, what) is one row, so that distinct tasks become plain rows to
-- count, and only the messages of one task are sorted at a time. So ranges of tasks add up.
--
-- The planner is held to that: its numbers are of no use right after a load, and a sort or a hash of all
-- messages spills. What is counted in the end is one row per name, which hashes well; "fixed" has no hash,
-- so that only the second grouping can be hashed. The order is asked for by itself, since PostgreSQL 18 does not
-- sort within a task for grouping sets. The names sort by collation "C", which is quicker and tells
-- the same names apart.
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
    -- Most of the range: both sides in the order of tasks, side by side. Else task by task.
    perform set_config('enable_nestloop', case when count_tasks.dense then 'off' else 'on' end, true);
    perform set_config('enable_mergejoin', case when count_tasks.dense then 'on' else 'off' end, true);

    -- Dynamic: one statement for five log tables.
    return query execute format(
        $statement$
        with message as (
            select
                l.task_id,
                l.category collate "C" as category,
                l.what collate "C" as what,
                (l.task_id < 0)::integer::bit(1) as fixed
            from corpus.tasks as t
            join %s as l on l.task_id = t.id
            where t.corpus_id = $1
                and t.service_id = $2
                and t.status between $3 and $4
                and t.id between $5 and $6
                and l.task_id between $5 and $6
            order by l.task_id, l.category collate "C", l.what collate "C", fixed
        ),
        per_task as (
            select
                grouping(m.category, m.what) as rolled_up,
                m.category,
                m.what,
                count(*) as messages
            from message as m
            group by grouping sets (
                (m.task_id, m.category, m.what, m.fixed),
                (m.task_id, m.category),
                (m.task_id)
            )
        )
        select
            case p.rolled_up when 0 then 'what' when 1 then 'category' else 'total' end::corpus.grain,
            p.category,
            p.what,
            count(*),
            sum(p.messages)::bigint
        from per_task as p
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
