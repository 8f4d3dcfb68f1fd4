-- The name of an entry of ours in pg_cron.
--
-- Names are unique per user over all databases of a server, so it carries the database's. pg_cron before 1.5
-- cuts them to 63 bytes without a word, and takes what is alike up to there for one; so a longer name ends
-- in a digest of the whole.
--
-- Called by   cron_entry, and whatever puts an entry there, finds it or takes it off

create or replace function cortex.cron_name(what text)
returns text
language sql
stable
set search_path = ''
as $$
    select case
        when octet_length(n.whole) <= 63 then n.whole
        else (
            select left(n.whole, k.characters)
            from generate_series(52, 1, -1) as k (characters)
            where octet_length(left(n.whole, k.characters)) <= 52
            order by k.characters desc
            limit 1
        ) || '~' || left(md5(n.whole), 10)
    end
    from (select 'cortex.' || what || ' in ' || current_database() as whole) as n;
$$;

comment on function cortex.cron_name(text) is
'Name of an entry of this database in pg_cron.';
