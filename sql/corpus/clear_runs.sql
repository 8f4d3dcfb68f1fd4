-- Clear away what dropped runs left, and changes that every slice has seen; one batch.
--
-- Called by   the bodies of the kinds populate_report and refresh_reports, as long as the batch is full;
--             cortex.maintain, once a minute; whoever wants to
-- Returns     rows deleted
-- Locks       those rows, skipping what somebody else has locked; of each severity whose changes it clears away, that
--             it did, until commit

create or replace function corpus.clear_runs(batch_size integer default 20000)
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_run integer;
    v_rows bigint;
    v_total bigint := 0;
    v_severity pg_catalog.text;
    v_seen pg_catalog.xid8;
begin
    -- Whose corpus or service is gone, nobody asks for any more.
    update corpus.run as r
    set state = 'dropped'
    where r.id = any(
        array(
            select o.id
            from corpus.run as o
            where o.state <> 'dropped'
                and (
                    not exists (select from corpus.corpora as c where c.id = o.corpus_id)
                    or not exists (select from corpus.services as s where s.id = o.service_id)
                )
            for update skip locked
        )
    );

    for v_run in
        select r.id
        from corpus.run as r
        where r.state = 'dropped'
        order by r.id
        for update skip locked
    loop
        delete from corpus.part as p where p.run = v_run;
        get diagnostics v_rows = row_count;
        v_total := v_total + v_rows;
        delete from corpus.kept_count as k where k.run = v_run;
        get diagnostics v_rows = row_count;
        v_total := v_total + v_rows;
        delete from corpus.kept_task as k
        where k.run = v_run
            and k.task_id in (
                select o.task_id
                from corpus.kept_task as o
                where o.run = v_run
                limit clear_runs.batch_size
            );
        get diagnostics v_rows = row_count;
        v_total := v_total + v_rows;
        exit when v_total >= clear_runs.batch_size;

        delete from corpus.run as r where r.id = v_run;
    end loop;

    for v_severity in select s.severity from corpus.severities() as s loop
        -- The smallest of what they have not seen; without any, of what is under way.
        select min(w.txid::pg_catalog.text::numeric)::pg_catalog.text::pg_catalog.xid8
        into v_seen
        from (
            select pg_snapshot_xmin(s.seen) as txid
            from corpus.slice as s
            where s.severity = v_severity
                and s.seen is not null
            union all
            select pg_snapshot_xmin(r.seen)
            from corpus.run as r
            where r.severity = v_severity
                and r.state <> 'dropped'
            union all
            select pg_snapshot_xmin(pg_current_snapshot())
        ) as w;

        -- A count that is not committed yet, so that it can't be among those, may have seen less than they have.
        insert into corpus.cleared as c (severity, txid)
        select
            v_severity,
            v_seen
        where exists (
            select
            from corpus.change as o
            where o.severity = v_severity
                and o.txid < v_seen
        )
        on conflict (severity) do update
        set txid = excluded.txid
        where c.txid < excluded.txid
            or c.txid >= pg_snapshot_xmax(pg_current_snapshot());

        delete from corpus.change as c
        where c.ctid = any(
            array(
                select o.ctid
                from corpus.change as o
                where o.severity = v_severity
                    and (
                        o.txid < v_seen
                        -- Another cluster's, from which this was restored.
                        or (
                            o.txid >= pg_snapshot_xmax(pg_current_snapshot())
                            and o.txid is distinct from pg_current_xact_id_if_assigned()
                        )
                    )
                limit clear_runs.batch_size
                for update skip locked
            )
        );
        get diagnostics v_rows = row_count;
        v_total := v_total + v_rows;
    end loop;
    return v_total;
end;
$$;

comment on function corpus.clear_runs(integer) is
'Clears away what counts of reports left that nobody needs any more; returns how many rows.';
