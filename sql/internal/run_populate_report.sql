-- The body of kind populate_report in SQL: counts the slice that the params name.
--
-- Called by   work
-- Returns     the job's result
-- Raises      22023 the params name no slice, or there is none of that name

create or replace function cortex.run_populate_report(job uuid)
returns jsonb
language plpgsql
volatile
set search_path = ''
as $$
declare
    v_params pg_catalog.jsonb;
    v_name pg_catalog.text;
    v_rows bigint;
begin
    select j.params into v_params
    from cortex.jobs as j
    where j.uuid = run_populate_report.job;

    foreach v_name in array array['corpus_id', 'service_id'] loop
        if jsonb_typeof(v_params -> v_name) is distinct from 'number'
            or (v_params ->> v_name)::numeric not between 1 and 2147483647
            or (v_params ->> v_name)::numeric % 1 <> 0
        then
            raise exception 'params: "%" must be the number of one, not %', v_name,
                coalesce(left((v_params -> v_name)::pg_catalog.text, 100), 'nothing')
                using errcode = '22023', hint = 'Ask for it with spawn_report_populate.';
        end if;
    end loop;
    if jsonb_typeof(v_params -> 'severity') is distinct from 'string' then
        raise exception 'params: "severity" must be a text'
            using errcode = '22023', hint = 'Ask for it with spawn_report_populate.';
    end if;

    v_rows := corpus.populate_scope(
        corpus_id => (v_params ->> 'corpus_id')::numeric::integer,
        service_id => (v_params ->> 'service_id')::numeric::integer,
        severity => v_params ->> 'severity'
    );
    perform cortex.step(
        job => run_populate_report.job, current => 1, total => 1, message => 'report ready'
    );
    return jsonb_build_object('populated', v_params ->> 'severity', 'rows', v_rows);
end;
$$;

comment on function cortex.run_populate_report(uuid) is
'Body of kind populate_report: counts one slice of the reports.';
