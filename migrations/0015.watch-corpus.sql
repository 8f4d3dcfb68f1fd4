-- What a slice of the reports has seen of the changes, who is counting it, and what each task adds to it,
-- so that a count is never silently older than the data, and a refresh looks at what changed only.

drop function if exists corpus.report_slice(integer, integer, text);

-- A refresh changes the counts of most rows and none of their names: with room on the page it touches no index.

alter table corpus.report_grain_cache set (fillfactor = 50);

create table corpus.change (
    id bigint generated always as identity,
    severity text not null,
    task_id bigint,
    corpus_id integer,
    service_id integer,
    txid xid8 not null default pg_current_xact_id(),
    constraint change_scope_is_whole check ((corpus_id is null) = (service_id is null))
);

comment on table corpus.change is
'What changed under the reports, until every slice has seen it; only ever inserted into. Private: '
'written by triggers on the tasks and the messages.';
comment on column corpus.change.task_id is
'A task whose messages of this severity, or whose place in a slice, changed. Null: any task may have.';
comment on column corpus.change.corpus_id is
'Whose slices are concerned; null: those that the task is in now.';
comment on column corpus.change.txid is
'The transaction that made the change, to be compared with what a count has seen.';

create index change_severity_idx on corpus.change (severity, txid);

comment on index corpus.change_severity_idx is
'corpus.slice_is_stale, corpus.apply_changes: the changes after a snapshot; corpus.note_all.';

create table corpus.slice (
    corpus_id integer not null,
    service_id integer not null,
    severity text not null,
    seen pg_snapshot,
    seen_by xid8,
    seen_upto bigint,
    cluster bigint,
    stale boolean not null default false,
    primary key (corpus_id, service_id, severity),
    constraint slice_corpus_fkey foreign key (corpus_id) references corpus.corpora (id)
        on delete cascade,
    constraint slice_service_fkey foreign key (service_id) references corpus.services (id)
        on delete cascade
);

comment on table corpus.slice is
'What the cached rows of a slice have seen of the changes. Private.';
comment on column corpus.slice.seen is
'Changes of the transactions that are visible in it are counted; null: nobody knows which are.';
comment on column corpus.slice.seen_by is
'The transaction that counted: of its own changes those up to seen_upto are counted.';
comment on column corpus.slice.cluster is
'Whose transactions these are: in another cluster, after a restore, their numbers mean nothing.';
comment on column corpus.slice.stale is
'Whether it is known to be older than the data, whatever the changes say.';

create table corpus.cleared (
    severity text primary key,
    txid xid8 not null
);

comment on table corpus.cleared is
'Up to where the changes of a severity are cleared away, in terms of transactions. Private.';
comment on column corpus.cleared.txid is
'Changes of earlier transactions are gone: a count that has not seen all of those knows not what it missed.';

create table corpus.run (
    id integer generated always as identity primary key,
    corpus_id integer not null,
    service_id integer not null,
    severity text not null,
    keeps boolean not null,
    state text not null default 'counting',
    tasks bigint not null,
    first_task bigint,
    last_task bigint,
    seen pg_snapshot not null,
    seen_by xid8,
    seen_upto bigint,
    cluster bigint,
    started_at timestamptz not null default clock_timestamp(),
    constraint run_state_is_known check (state in ('counting', 'kept', 'dropped'))
);

comment on table corpus.run is
'Counts of a slice that are under way, range by range of its tasks; and of one that is done, what it kept. '
'Private.';
comment on column corpus.run.keeps is
'Whether what each task adds is kept in corpus.kept_task.';
comment on column corpus.run.state is
'counting; kept: its kept rows are what the slice is refreshed from; dropped: to be cleared away.';
comment on column corpus.run.seen is
'As in corpus.slice: what was there before its first range.';

create table corpus.part (
    run integer not null,
    grain corpus.grain not null,
    category text,
    what text,
    task_count bigint not null,
    message_count bigint not null
);

comment on table corpus.part is
'The counts of ranges of tasks of a run, until they are summed. Private.';

create index part_run_idx on corpus.part (run);

comment on index corpus.part_run_idx is
'corpus.finish_run, corpus.clear_runs: the parts of a run.';

create table corpus.grain_name (
    id integer generated always as identity primary key,
    category text,
    what text
);

comment on table corpus.grain_name is
'Each pair of names that kept rows mention, by number. Private; names that nobody mentions stay.';

create unique index grain_name_key on corpus.grain_name (
    (category is null),
    (coalesce(category, '')),
    (what is null),
    (coalesce(what, ''))
);

comment on index corpus.grain_name_key is
'corpus.keep_range, corpus.apply_changes: the number of a pair of names.';

create table corpus.kept_task (
    run integer not null,
    task_id bigint not null,
    names integer[] not null,
    messages integer[],
    primary key (run, task_id)
);

comment on table corpus.kept_task is
'What each task adds to the counts of a run. Private.';
comment on column corpus.kept_task.names is
'Numbers in corpus.grain_name, each once.';
comment on column corpus.kept_task.messages is
'How many messages of each name; null: one of each.';

create table corpus.kept_count (
    run integer not null,
    grain corpus.grain not null,
    category text,
    what text,
    task_count bigint not null,
    message_count bigint not null
);

comment on table corpus.kept_count is
'The sums of what the tasks of a run add. Private.';

create unique index kept_count_key on corpus.kept_count (
    run,
    grain,
    (category is null),
    (coalesce(category, '')),
    (what is null),
    (coalesce(what, ''))
);

comment on index corpus.kept_count_key is
'corpus.apply_changes, corpus.show_counts: the sum of one name.';

-- What was counted before changes were noted may be older than the data.

insert into corpus.slice (corpus_id, service_id, severity, stale)
select distinct
    r.corpus_id,
    r.service_id,
    r.severity,
    true
from corpus.report_grain_cache as r;
