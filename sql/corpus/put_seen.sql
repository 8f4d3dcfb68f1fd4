-- Note what the cached rows of a slice have seen.
--
-- Called by   corpus.populate_scope, corpus.finish_run; the slice is locked

create or replace function corpus.put_seen(
    corpus_id integer,
    service_id integer,
    severity text,
    seen pg_snapshot,
    seen_by xid8,
    seen_upto bigint,
    cluster bigint
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    insert into corpus.slice (corpus_id, service_id, severity, seen, seen_by, seen_upto, cluster)
    values (
        put_seen.corpus_id,
        put_seen.service_id,
        put_seen.severity,
        put_seen.seen,
        put_seen.seen_by,
        put_seen.seen_upto,
        put_seen.cluster
    )
    on conflict on constraint slice_pkey do update
    set seen = excluded.seen,
        seen_by = excluded.seen_by,
        seen_upto = excluded.seen_upto,
        cluster = excluded.cluster,
        stale = false;
end;
$$;

comment on function corpus.put_seen(integer, integer, text, pg_snapshot, xid8, bigint, bigint) is
'Notes what the cached rows of a slice of the reports have seen of the changes.';
