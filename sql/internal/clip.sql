-- Cut a long text to what a message may hold, in the middle, so that its head and its tail stay.
--
-- Returns     at most 4000 characters; a cut shows how many are gone

create or replace function cortex.clip(whole text)
returns text
language plpgsql
immutable
parallel safe
set search_path = ''
as $$
begin
    return case
        when length(clip.whole) <= 4000 then clip.whole
        else left(clip.whole, 2950)
            || format(' … [%s characters cut] … ', length(clip.whole) - 3950)
            || right(clip.whole, 1000)
    end;
end;
$$;

comment on function cortex.clip(text) is
'A text of at most 4000 characters, cut in the middle with a visible mark.';
