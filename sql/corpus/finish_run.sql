-- Publish the counts of a run, all of whose ranges are counted: in one go, in place of what was there.
--
-- What changed since it began makes the slice stale; where each task's grains are kept it is counted in.
--
-- Called by   the bodies of kind populate_report, corpus.count_now
-- Returns     rows of the slice
-- Raises      55000 the run is not counting any more, 40001 in repeatable read and serializable when the slice
--             was populated meanwhile
-- Locks       the slice, until commit

create or replace function corpus.finish_run(run integer)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
set enable_sort = off
set hash_mem_multiplier = 8
set max_parallel_workers_per_gather = 0
set jit = off
as $$
declare
    v_run corpus.run := corpus.require_run(run => finish_run.run);
    v_rows bigint;
begin
    perform corpus.lock_slice(
        corpus_id => v_run.corpus_id,
        service_id => v_run.service_id,
        severity => v_run.severity
    );
    v_run := corpus.require_run(run => finish_run.run);

    insert into corpus.kept_count (run, grain, category, what, task_count, message_count)
    select
        v_run.id,
        p.grain,
        p.category,
        p.what,
        sum(p.task_count),
        sum(p.message_count)
    from corpus.part as p
    where p.run = v_run.id
    group by p.grain, p.category, p.what
    union all
    select v_run.id, 'total', null, null, 0, 0
    where not exists (
        select
        from corpus.part as p
        where p.run = v_run.id
    );
    delete from corpus.part as p
    where p.run = v_run.id;

    if v_run.keeps then
        update corpus.run as r
        set state = 'dropped'
        where r.corpus_id = v_run.corpus_id
            and r.service_id = v_run.service_id
            and r.severity = v_run.severity
            and r.state = 'kept';
        update corpus.run as r
        set state = 'kept'
        where r.id = v_run.id;
        analyze corpus.kept_task;
        if corpus.apply_changes(run => v_run.id) then
            select r.* into v_run
            from corpus.run as r
            where r.id = finish_run.run;
        end if;
    else
        update corpus.run as r
        set state = 'dropped'
        where r.id = v_run.id;
    end if;

    v_rows := corpus.show_counts(run => v_run.id);
    if not v_run.keeps then
        delete from corpus.kept_count as k
        where k.run = v_run.id;
    end if;
    perform corpus.put_seen(
        corpus_id => v_run.corpus_id,
        service_id => v_run.service_id,
        severity => v_run.severity,
        seen => v_run.seen,
        seen_by => v_run.seen_by,
        seen_upto => v_run.seen_upto,
        cluster => v_run.cluster
    );
    return v_rows;
exception
    when unique_violation then
        raise exception 'slice % % % was populated meanwhile',
            v_run.corpus_id, v_run.service_id, v_run.severity
            using errcode = '40001', hint = 'Try the whole transaction again.';
end;
$$;

comment on function corpus.finish_run(integer) is
'Publishes the counts of a run; returns the rows of the slice.';
