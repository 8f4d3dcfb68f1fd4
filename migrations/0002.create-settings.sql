-- What an operator may set: the defaults for every kind, and what one kind says otherwise.
-- Intervals, never bare numbers; an impossible combination is refused by a constraint.

create table cortex.settings (
    only_row boolean primary key default true,
    stale_after interval not null default '2 hours',
    run_timeout interval,
    queue_timeout interval,
    max_attempts integer not null default 1,
    backoff interval not null default '10 seconds',
    backoff_limit interval not null default '1 hour',
    on_interrupt cortex.interrupt_policy not null default 'leave',
    max_running integer,
    keep interval,
    cancel_grace interval not null default '10 seconds',
    runner_beat interval not null default '5 seconds',
    runner_grace interval not null default '30 seconds',
    constraint settings_is_one_row check (only_row),
    constraint settings_stale_after_is_positive check (stale_after > '0'),
    constraint settings_run_timeout_is_positive check (run_timeout > '0'),
    constraint settings_queue_timeout_is_positive check (queue_timeout > '0'),
    constraint settings_max_attempts_is_positive check (max_attempts > 0),
    constraint settings_backoff_is_within_its_limit check (
        backoff >= '0' and backoff <= backoff_limit
    ),
    constraint settings_requeue_implies_attempts check (
        on_interrupt <> 'requeue' or max_attempts > 1
    ),
    constraint settings_max_running_is_positive check (max_running > 0),
    constraint settings_keep_is_not_negative check (keep >= '0'),
    constraint settings_cancel_grace_is_not_negative check (cancel_grace >= '0'),
    constraint settings_beat_is_positive check (runner_beat > '0'),
    constraint settings_grace_outlasts_three_beats check (runner_grace >= runner_beat * 3)
);

comment on table cortex.settings is
'The defaults for every kind, and the rhythm of runners; one row.';
comment on column cortex.settings.stale_after is
'A running job that has not stepped for this long is presumed hung.';
comment on column cortex.settings.run_timeout is
'A job may run this long, however alive it is; null for ever.';
comment on column cortex.settings.queue_timeout is
'A job that anybody may take may wait this long; null for ever.';
comment on column cortex.settings.max_attempts is
'How often a job is started at most, before its failure or interruption is final.';
comment on column cortex.settings.backoff is
'Pause before the second attempt; it doubles with each one, up to backoff_limit.';
comment on column cortex.settings.max_running is
'How many jobs of one kind run at once, over all runners; null for any number.';
comment on column cortex.settings.keep is
'How long finished jobs are kept; null keeps them for ever.';
comment on column cortex.settings.cancel_grace is
'How long a hard cancel waits between cancelling a statement and ending its session.';
comment on column cortex.settings.runner_beat is
'How often a runner says that it lives.';
comment on column cortex.settings.runner_grace is
'How long a runner without its lease may be silent before its jobs are orphans.';
comment on constraint settings_grace_outlasts_three_beats on cortex.settings is
'One or two lost beats must never look like a death.';
comment on constraint settings_requeue_implies_attempts on cortex.settings is
'A job that kills its process must not be tried for ever.';

insert into cortex.settings default values;

create table cortex.kind (
    name text primary key,
    stale_after interval,
    run_timeout interval,
    queue_timeout interval,
    max_attempts integer,
    backoff interval,
    on_interrupt cortex.interrupt_policy,
    max_running integer,
    keep interval,
    constraint kind_name_is_1_to_200_characters check (length(name) between 1 and 200),
    constraint kind_stale_after_is_positive check (stale_after > '0'),
    constraint kind_run_timeout_is_positive check (run_timeout > '0'),
    constraint kind_queue_timeout_is_positive check (queue_timeout > '0'),
    constraint kind_max_attempts_is_positive check (max_attempts > 0),
    constraint kind_backoff_is_not_negative check (backoff >= '0'),
    constraint kind_max_running_is_positive check (max_running > 0),
    constraint kind_keep_is_not_negative check (keep >= '0')
);

comment on table cortex.kind is
'What one kind of job says otherwise than the settings; null means as the settings say. A kind needs no row.';
