-- A span of time as people say it: in minutes where it is whole minutes, else in seconds.

create or replace function cortex.in_words(span interval)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
declare
    v_seconds constant numeric := extract(epoch from in_words.span);
begin
    return case
        when v_seconds = 60 then '1 minute'
        when mod(v_seconds, 60) = 0 then trunc(v_seconds / 60)::pg_catalog.text || ' minutes'
        when v_seconds = 1 then '1 second'
        else trim_scale(v_seconds)::pg_catalog.text || ' seconds'
    end;
end;
$$;

comment on function cortex.in_words(interval) is
'A span of time in words, for messages.';
