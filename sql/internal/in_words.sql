-- A span of time as people say it: in minutes where it is whole minutes, else in seconds.

create or replace function cortex.in_words(span interval)
returns text
language sql
immutable
parallel safe
set search_path = ''
as $$
    select case
        when extract(epoch from span) = 60 then '1 minute'
        when mod(extract(epoch from span), 60) = 0
            then trunc(extract(epoch from span) / 60)::pg_catalog.text || ' minutes'
        when extract(epoch from span) = 1 then '1 second'
        else trim_scale(extract(epoch from span))::pg_catalog.text || ' seconds'
    end;
$$;

comment on function cortex.in_words(interval) is
'A span of time in words, for messages.';
