-- Begin to count a slice in ranges of its tasks, each in a transaction of its own.
--
-- To be followed, after a commit, by corpus.count_range or corpus.keep_range for ranges that lie side by side
-- from first_task to last_task, in any order and by several sessions, and by corpus.finish_run. What changes
-- meanwhile is noted from here on. An earlier run of this slice that was not finished is dropped.
--
-- Called by   the bodies of kind populate_report, corpus.count_now
-- Returns     the run; tasks, first_task and last_task say how much there is to do
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity
-- Locks       the slice, until commit

create or replace function corpus.begin_run(
    corpus_id integer,
    service_id integer,
    severity text,
    keeps boolean default false,
    out run integer,
    out tasks bigint,
    out first_task bigint,
    out last_task bigint
)
returns record
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_seen pg_catalog.record;
begin
    perform corpus.require_slice(
        corpus_id => begin_run.corpus_id,
        service_id => begin_run.service_id,
        severity => begin_run.severity
    );
    if begin_run.keeps is null then
        raise exception 'keeps is null'
            using errcode = '22004', hint = 'Say whether what each task adds is to be kept.';
    end if;
    perform corpus.lock_slice(
        corpus_id => begin_run.corpus_id,
        service_id => begin_run.service_id,
        severity => begin_run.severity
    );

    update corpus.run as r
    set state = 'dropped'
    where r.corpus_id = begin_run.corpus_id
        and r.service_id = begin_run.service_id
        and r.severity = begin_run.severity
        and r.state = 'counting';

    select s.* into v_seen
    from corpus.seen_now(severity => begin_run.severity) as s;
    select
        s.tasks,
        s.first_task,
        s.last_task
    into tasks, first_task, last_task
    from corpus.slice_tasks(
        corpus_id => begin_run.corpus_id,
        service_id => begin_run.service_id,
        severity => begin_run.severity
    ) as s;

    insert into corpus.run (
        corpus_id, service_id, severity, keeps, tasks, first_task, last_task,
        seen, seen_by, seen_upto, cluster
    )
    values (
        begin_run.corpus_id, begin_run.service_id, begin_run.severity, begin_run.keeps,
        tasks, first_task, last_task,
        v_seen.seen, v_seen.seen_by, v_seen.seen_upto, v_seen.cluster
    )
    returning id into run;
end;
$$;

comment on function corpus.begin_run(integer, integer, text, boolean) is
'Begins to count a slice of the reports in ranges of its tasks.';
