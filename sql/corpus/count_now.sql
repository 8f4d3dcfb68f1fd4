-- Have a slice counted: here and now where that takes no longer than the budget, else by a job.
--
-- Counts in small ranges and looks at the clock between them, so that it gives up in time whatever the
-- planner thought; what it counted till then is undone. Of many callers one counts, the others wait for it, as
-- long as the budget.
--
-- Called by   whoever wants to see a report; part of the caller's transaction
-- Returns     ready: the slice is there and not stale; else the job that counts it, and whether it was made now
-- Raises      22004 an argument is null, 22023 no such corpus, service or severity, or a negative budget,
--             40001 in repeatable read and serializable when the slice was populated meanwhile
-- Locks       the slice, until commit

create or replace function corpus.count_now(
    corpus_id integer,
    service_id integer,
    severity text,
    budget interval default '2 seconds',
    actor text default ''
)
returns table (ready boolean, uuid uuid, created boolean)
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_began constant pg_catalog.timestamptz := clock_timestamp();
    v_wait constant pg_catalog.text := current_setting('lock_timeout');
    v_left interval;
    v_run pg_catalog.record;
    v_first bigint;
    v_last bigint;
    v_width bigint := 50;
    v_range_began pg_catalog.timestamptz;
begin
    perform corpus.require_slice(
        corpus_id => count_now.corpus_id,
        service_id => count_now.service_id,
        severity => count_now.severity
    );
    if count_now.budget is null then
        raise exception 'budget is null'
            using errcode = '22004', hint = 'Say how long the count may take; 0 leaves it to a job.';
    end if;
    if count_now.budget < interval '0' then
        raise exception 'budget is %', count_now.budget
            using errcode = '22023', hint = 'Say how long the count may take; 0 leaves it to a job.';
    end if;

    if not coalesce(
        corpus.slice_is_stale(
            corpus_id => count_now.corpus_id,
            service_id => count_now.service_id,
            severity => count_now.severity
        ),
        true
    ) then
        return query select true, null::pg_catalog.uuid, null::boolean;
        return;
    end if;

    begin
        if count_now.budget = interval '0' then
            raise exception 'no time' using errcode = '55P03';
        end if;

        perform set_config(
            'lock_timeout',
            least(
                greatest((extract(epoch from count_now.budget) * 1000)::bigint, 1), 2147483647
            )::pg_catalog.text,
            true
        );
        perform corpus.lock_slice(
            corpus_id => count_now.corpus_id,
            service_id => count_now.service_id,
            severity => count_now.severity
        );
        perform set_config('lock_timeout', v_wait, true);

        -- Somebody may have counted while this waited.
        if not coalesce(
            corpus.slice_is_stale(
                corpus_id => count_now.corpus_id,
                service_id => count_now.service_id,
                severity => count_now.severity
            ),
            true
        ) then
            return query select true, null::pg_catalog.uuid, null::boolean;
            return;
        end if;

        if corpus.refresh_slice(
            corpus_id => count_now.corpus_id,
            service_id => count_now.service_id,
            severity => count_now.severity
        ) is null
        then
            select r.* into v_run
            from corpus.begin_run(
                corpus_id => count_now.corpus_id,
                service_id => count_now.service_id,
                severity => count_now.severity
            ) as r;
            v_first := v_run.first_task;
            while v_first <= v_run.last_task loop
                v_range_began := clock_timestamp();
                v_last := least(v_first + v_width - 1, v_run.last_task);
                perform corpus.count_range(
                    run => v_run.run, first_task => v_first, last_task => v_last
                );
                v_first := v_last + 1;
                v_left := count_now.budget - (clock_timestamp() - v_began);
                if v_first <= v_run.last_task
                    and (
                        v_left <= interval '0'
                        -- At this pace it will not be done; no need to use the budget up.
                        or (
                            v_width >= 800
                            and (clock_timestamp() - v_range_began) / v_width * (v_run.last_task - v_first)
                            > v_left * 2
                        )
                    )
                then
                    raise exception 'no time' using errcode = '55P03';
                end if;
                v_width := least(
                    v_width * 2,
                    greatest(
                        50,
                        (v_width * 0.1 / greatest(extract(epoch from clock_timestamp() - v_range_began), 0.001))::bigint
                    )
                );
            end loop;
            perform corpus.finish_run(run => v_run.run);
        end if;
        return query select true, null::pg_catalog.uuid, null::boolean;
        return;
    exception when lock_not_available then
        null; -- what it did is undone; a job has all the time that it takes
    end;

    return query
    select
        false,
        s.uuid,
        s.created
    from cortex.spawn_report_populate(
        corpus_id => count_now.corpus_id,
        service_id => count_now.service_id,
        severity => count_now.severity,
        actor => count_now.actor
    ) as s;
end;
$$;

comment on function corpus.count_now(integer, integer, text, interval, text) is
'Has a slice of the reports counted: at once if that fits the budget, else by a job, which it names.';
