-- Both take limits of time as well now; what calls them with fewer arguments finds the new ones.

drop function if exists cortex.spawn_reindex(text, text[]);
drop function if exists cortex.spawn_analyze(text, text[]);
