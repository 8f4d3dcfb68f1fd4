-- Whether some slice of a severity has been counted, or is being, so that changes are noted task by task.
--
-- Called by   the triggers. Where it says no, one row for the whole transaction does: a count that was begun
--             meanwhile has not seen it, and is stale.

create or replace function corpus.is_watched(severity text)
returns boolean
language plpgsql
volatile
security definer
set search_path = ''
as $$
begin
    return exists (
        select
        from corpus.slice as s
        where s.severity = is_watched.severity
            and s.seen is not null
    )
    or exists (
        select
        from corpus.run as r
        where r.severity = is_watched.severity
            and r.state <> 'dropped'
    );
end;
$$;

comment on function corpus.is_watched(text) is
'Whether changes of messages of this severity are noted task by task.';
