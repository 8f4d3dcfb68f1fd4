-- What an operator may set: the defaults for every kind, and what one kind says otherwise.
-- Intervals, never bare numbers; an impossible combination is refused by a constraint.

create table cortex.settings (
    only_row boolean primary key default true,
    stale_after interval not null default '2 hours',
    keep interval,
    runner_beat interval not null default '5 seconds',
    runner_grace interval not null default '30 seconds',
    constraint settings_is_one_row check (only_row),
    constraint settings_stale_after_is_positive check (stale_after > '0'),
    constraint settings_keep_is_not_negative check (keep is null or keep >= '0'),
    constraint settings_beat_is_positive check (runner_beat > '0'),
    constraint settings_grace_outlasts_three_beats check (runner_grace >= runner_beat * 3)
);

comment on table cortex.settings is
'The defaults for every kind, and the rhythm of runners; one row.';
comment on column cortex.settings.stale_after is
'A running job that has not stepped for this long is presumed hung.';
comment on column cortex.settings.keep is
'How long finished jobs are kept; null keeps them for ever.';
comment on column cortex.settings.runner_beat is
'How often a runner says that it lives.';
comment on column cortex.settings.runner_grace is
'How long a runner without its lease may be silent before its jobs are orphans.';
comment on constraint settings_grace_outlasts_three_beats on cortex.settings is
'One or two lost beats must never look like a death.';

insert into cortex.settings default values;

create table cortex.kind (
    name text primary key,
    stale_after interval,
    keep interval,
    constraint kind_name_is_1_to_200_characters check (length(name) between 1 and 200),
    constraint kind_stale_after_is_positive check (stale_after > '0'),
    constraint kind_keep_is_not_negative check (keep >= '0')
);

comment on table cortex.kind is
'What one kind of job says otherwise than the settings; null means as the settings say. A kind needs no row.';
