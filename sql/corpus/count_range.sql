-- Count one range of the tasks of a run.
--
-- Called by   the bodies of kind populate_report, corpus.count_now; each range once
-- Returns     rows noted
-- Raises      55000 the run is not counting any more

create or replace function corpus.count_range(run integer, first_task bigint, last_task bigint)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_run constant corpus.run := corpus.require_run(run => count_range.run);
    v_rows bigint;
begin
    insert into corpus.part (run, grain, category, what, task_count, message_count)
    select
        v_run.id,
        c.grain,
        c.category,
        c.what,
        c.task_count,
        c.message_count
    from corpus.count_tasks(
        corpus_id => v_run.corpus_id,
        service_id => v_run.service_id,
        severity => v_run.severity,
        first_task => count_range.first_task,
        last_task => count_range.last_task,
        dense => v_run.tasks * 8 > v_run.last_task - v_run.first_task
    ) as c;

    get diagnostics v_rows = row_count;
    return v_rows;
end;
$$;

comment on function corpus.count_range(integer, bigint, bigint) is
'Counts one range of the tasks of a run.';
