-- The shortest time that finished jobs of any kind are to be kept: what is younger needs no look.
--
-- Called by   purge_jobs, purge_expired
-- Returns     seconds; null where everything is kept for ever

create or replace function cortex.shortest_keep()
returns numeric
language sql
stable
set search_path = ''
as $$
    select least(extract(epoch from s.keep), min(extract(epoch from k.keep)))
    from cortex.settings as s
    left join cortex.kind as k on true
    group by s.keep;
$$;

comment on function cortex.shortest_keep() is
'Seconds for which finished jobs of any kind are kept at least; null for ever.';
