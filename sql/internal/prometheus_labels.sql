-- The labels of one sample, with what Prometheus wants escaped escaped.

create or replace function cortex.prometheus_labels(kind text, status cortex.job_status)
returns text
language sql
immutable
set search_path = ''
as $$
    select format(
        '{kind="%s",status="%s"}',
        replace(
            replace(replace(prometheus_labels.kind, e'\\', e'\\\\'), '"', e'\\"'), e'\n', e'\\n'
        ),
        prometheus_labels.status
    );
$$;

comment on function cortex.prometheus_labels(text, cortex.job_status) is
'Kind and status as labels of a Prometheus sample.';
