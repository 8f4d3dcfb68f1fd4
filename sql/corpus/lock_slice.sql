-- Hold one slice of the report cache, or all of one corpus and service, until the transaction ends.
--
-- Called by   corpus.populate_scope (one severity), corpus.invalidate_scope (severity null: all five)
-- Locks       the whole cache shared, then the slices in the order of their severities' names;
--             corpus.invalidate_all takes the whole cache for itself

create or replace function corpus.lock_slice(
    corpus_id integer,
    service_id integer,
    severity text
)
returns void
language plpgsql
volatile
security definer
set search_path = ''
as $$
declare
    v_severity pg_catalog.text;
begin
    perform pg_advisory_xact_lock_shared(hashtextextended('corpus.report_grain_cache', 0));

    foreach v_severity in array case
        when lock_slice.severity is null
            then array['error', 'fatal', 'info', 'invalid', 'warning']
        else array[lock_slice.severity]
    end loop
        perform pg_advisory_xact_lock(
            hashtextextended(
                format(
                    'corpus.report_grain_cache %s %s %s',
                    lock_slice.corpus_id, lock_slice.service_id, v_severity
                ),
                0
            )
        );
    end loop;
end;
$$;

comment on function corpus.lock_slice(integer, integer, text) is
'Holds one slice of the report cache, or with severity null all five of a corpus and service, '
'until the transaction ends.';
