-- When upkeep last ran and what it did, so that a doctor can tell a scheduler that sleeps.

create table cortex.upkeep (
    only_row boolean primary key default true,
    last_run_at timestamptz,
    last_role text,
    stale integer not null default 0,
    overdue integer not null default 0,
    orphaned integer not null default 0,
    purged integer not null default 0,
    constraint upkeep_is_one_row check (only_row)
);

comment on table cortex.upkeep is
'The last run of cortex.maintain(); one row.';

insert into cortex.upkeep default values;
