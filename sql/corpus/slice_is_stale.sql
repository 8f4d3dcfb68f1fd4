-- Whether the cached rows of a slice are older than the data.
--
-- Called by   corpus.report_slice, corpus.count_now, the body of kind populate_report
-- Returns     null when it is cold

create or replace function corpus.slice_is_stale(
    corpus_id integer,
    service_id integer,
    severity text
)
returns boolean
language plpgsql
stable
security definer
set search_path = ''
as $$
declare
    v_slice corpus.slice;
begin
    if not exists (
        select
        from corpus.report_grain_cache as r
        where r.corpus_id = slice_is_stale.corpus_id
            and r.service_id = slice_is_stale.service_id
            and r.severity = slice_is_stale.severity
    ) then
        return null;
    end if;

    select s.* into v_slice
    from corpus.slice as s
    where s.corpus_id = slice_is_stale.corpus_id
        and s.service_id = slice_is_stale.service_id
        and s.severity = slice_is_stale.severity;

    return v_slice.seen is null
        or v_slice.stale
        or v_slice.cluster is distinct from (select s.system_identifier from pg_control_system() as s)
        or exists (
            select
            from corpus.cleared as c
            where c.severity = v_slice.severity
                and c.txid > pg_snapshot_xmin(v_slice.seen)
                and c.txid < pg_snapshot_xmax(pg_current_snapshot())
        )
        or exists (
            select
            from corpus.change as c
            where c.severity = v_slice.severity
                and c.txid >= pg_snapshot_xmin(v_slice.seen)
                -- A snapshot doesn't list the transaction that took it, and may call its changes visible.
                and case
                    when c.txid = v_slice.seen_by then c.id > v_slice.seen_upto
                    else not pg_visible_in_snapshot(c.txid, v_slice.seen)
                end
                -- A number still to come is another cluster's, from which this was restored.
                and (
                    c.txid < pg_snapshot_xmax(pg_current_snapshot())
                    or c.txid = pg_current_xact_id_if_assigned()
                )
                and case
                    when c.corpus_id is not null
                        then c.corpus_id = v_slice.corpus_id and c.service_id = v_slice.service_id
                    when c.task_id is null then true
                    else exists (
                        select
                        from corpus.tasks as t
                        join corpus.severities() as s on t.status between s.lowest and s.highest
                        where t.id = c.task_id
                            and t.corpus_id = v_slice.corpus_id
                            and t.service_id = v_slice.service_id
                            and s.severity = v_slice.severity
                    )
                end
        );
end;
$$;

comment on function corpus.slice_is_stale(integer, integer, text) is
'Whether data changed since a slice of the reports was counted; null when it is not counted.';
