-- Forget all reports; each is counted anew when somebody asks for it.
--
-- Called by   the body of kind refresh_reports
-- Returns     rows dropped from the cache
-- Locks       the whole cache until commit, where nobody is counting. Else that is not waited for: slices that
--             are being counted will be stale when the count is published.

create or replace function corpus.invalidate_all()
returns bigint
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_rows bigint;
begin
    insert into corpus.change (severity, corpus_id, service_id)
    select
        s.severity,
        t.corpus_id,
        t.service_id
    from corpus.severities() as s
    cross join (
        select
            c.id as corpus_id,
            v.id as service_id
        from corpus.corpora as c
        cross join corpus.services as v
        where exists (
            select
            from corpus.tasks as t
            where t.corpus_id = c.id
                and t.service_id = v.id
        )
    ) as t;

    if pg_try_advisory_xact_lock(hashtextextended('corpus.report_grain_cache', 0)) then
        delete from corpus.report_grain_cache;
        get diagnostics v_rows = row_count;
        delete from corpus.slice;
    else
        delete from corpus.report_grain_cache as r
        where r.id in (
            select o.id
            from corpus.report_grain_cache as o
            order by o.id
            for update skip locked
        );
        get diagnostics v_rows = row_count;
    end if;
    return v_rows;
end;
$$;

comment on function corpus.invalidate_all() is
'Drops all cached reports; returns how many rows.';
