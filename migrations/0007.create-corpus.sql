-- The data model that the built-in report jobs work on: documents of a corpus that a service
-- converted, what the conversion logs say of them, and the counts that reports show.
-- Nobody is forced to use it; the job system needs nothing of it.

create schema corpus;

comment on schema corpus is
'Documents, the messages of their conversion logs, and reports over them.';

create type corpus.grain as enum ('total', 'category', 'what');

comment on type corpus.grain is
'How fine a row of a report counts: the whole slice, one category, or one (category, what).';

create table corpus.corpora (
    id integer generated always as identity primary key,
    name text not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint corpora_name_key unique (name),
    constraint corpora_name_is_1_to_200_characters check (length(name) between 1 and 200)
);

comment on table corpus.corpora is
'Collections of documents.';

create table corpus.services (
    id integer generated always as identity primary key,
    name text not null,
    created_at timestamptz not null default clock_timestamp(),
    constraint services_name_key unique (name),
    constraint services_name_is_1_to_200_characters check (length(name) between 1 and 200)
);

comment on table corpus.services is
'What is done to documents, such as a conversion.';

create table corpus.tasks (
    id bigint generated always as identity primary key,
    corpus_id integer not null,
    service_id integer not null,
    status integer not null default 0,
    entry text not null,
    created_at timestamptz not null default clock_timestamp(),
    updated_at timestamptz not null default clock_timestamp(),
    constraint tasks_corpus_fkey foreign key (corpus_id) references corpus.corpora (id),
    constraint tasks_service_fkey foreign key (service_id) references corpus.services (id),
    constraint tasks_entry_key unique (corpus_id, service_id, entry),
    constraint tasks_status_is_known check (status between -5 and 0),
    constraint tasks_entry_is_1_to_2000_bytes check (octet_length(entry) between 1 and 2000)
);

comment on table corpus.tasks is
'One document of one corpus under one service, and how it went.';
comment on column corpus.tasks.status is
'0 to do, -1 no problem, -2 warning, -3 error, -4 fatal, -5 invalid: its worst message.';
comment on column corpus.tasks.entry is
'Name of the document: its path inside the corpus.';
comment on constraint tasks_entry_key on corpus.tasks is
'A document is one task per service. Serves the import, which looks documents up by name.';
comment on constraint tasks_entry_is_1_to_2000_bytes on corpus.tasks is
'Bytes, not characters: what still fits into an index row.';

create index tasks_status_idx on corpus.tasks (corpus_id, service_id, status) include (id);

comment on index corpus.tasks_status_idx is
'corpus.populate_scope: the tasks of a scope that a severity takes.';

create table corpus.log_infos (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    category text,
    what text,
    details text,
    constraint log_infos_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint log_infos_category_is_at_most_100_characters check (length(category) <= 100),
    constraint log_infos_what_is_at_most_200_characters check (length(what) <= 200),
    constraint log_infos_details_is_at_most_2000_characters check (length(details) <= 2000)
);

comment on table corpus.log_infos is
'Messages of severity info, one row each.';

create index log_infos_task_idx on corpus.log_infos (task_id);

comment on index corpus.log_infos_task_idx is
'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

create table corpus.log_warnings (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    category text,
    what text,
    details text,
    constraint log_warnings_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint log_warnings_category_is_at_most_100_characters check (length(category) <= 100),
    constraint log_warnings_what_is_at_most_200_characters check (length(what) <= 200),
    constraint log_warnings_details_is_at_most_2000_characters check (length(details) <= 2000)
);

comment on table corpus.log_warnings is
'Messages of severity warning, one row each.';

create index log_warnings_task_idx on corpus.log_warnings (task_id);

comment on index corpus.log_warnings_task_idx is
'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

create table corpus.log_errors (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    category text,
    what text,
    details text,
    constraint log_errors_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint log_errors_category_is_at_most_100_characters check (length(category) <= 100),
    constraint log_errors_what_is_at_most_200_characters check (length(what) <= 200),
    constraint log_errors_details_is_at_most_2000_characters check (length(details) <= 2000)
);

comment on table corpus.log_errors is
'Messages of severity error, one row each.';

create index log_errors_task_idx on corpus.log_errors (task_id);

comment on index corpus.log_errors_task_idx is
'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

create table corpus.log_fatals (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    category text,
    what text,
    details text,
    constraint log_fatals_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint log_fatals_category_is_at_most_100_characters check (length(category) <= 100),
    constraint log_fatals_what_is_at_most_200_characters check (length(what) <= 200),
    constraint log_fatals_details_is_at_most_2000_characters check (length(details) <= 2000)
);

comment on table corpus.log_fatals is
'Messages of severity fatal, one row each.';

create index log_fatals_task_idx on corpus.log_fatals (task_id);

comment on index corpus.log_fatals_task_idx is
'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

create table corpus.log_invalids (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    category text,
    what text,
    details text,
    constraint log_invalids_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint log_invalids_category_is_at_most_100_characters check (length(category) <= 100),
    constraint log_invalids_what_is_at_most_200_characters check (length(what) <= 200),
    constraint log_invalids_details_is_at_most_2000_characters check (length(details) <= 2000)
);

comment on table corpus.log_invalids is
'Why a document is invalid: no conversion log of it could be read.';

create index log_invalids_task_idx on corpus.log_invalids (task_id);

comment on index corpus.log_invalids_task_idx is
'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

create table corpus.historical_tasks (
    id bigint generated always as identity primary key,
    task_id bigint not null,
    status integer not null,
    saved_at timestamptz not null default clock_timestamp(),
    constraint historical_tasks_task_fkey foreign key (task_id) references corpus.tasks (id)
        on delete cascade,
    constraint historical_tasks_status_is_known check (status between -5 and 0)
);

comment on table corpus.historical_tasks is
'What the status of a task was before it changed.';
comment on column corpus.historical_tasks.saved_at is
'When the task got another status.';

create index historical_tasks_task_idx on corpus.historical_tasks (task_id, saved_at);

comment on index corpus.historical_tasks_task_idx is
'The history of one task; and the cascade when a task is deleted.';

create table corpus.report_grain_cache (
    id bigint generated always as identity primary key,
    corpus_id integer not null,
    service_id integer not null,
    severity text not null,
    grain corpus.grain not null,
    category text,
    what text,
    task_count bigint not null,
    message_count bigint not null,
    computed_at timestamptz not null default clock_timestamp(),
    constraint report_grain_cache_corpus_fkey foreign key (corpus_id)
        references corpus.corpora (id) on delete cascade,
    constraint report_grain_cache_service_fkey foreign key (service_id)
        references corpus.services (id) on delete cascade,
    constraint report_grain_cache_severity_is_known check (
        severity in ('info', 'warning', 'error', 'fatal', 'invalid')
    ),
    constraint report_grain_cache_total_names_nothing check (
        grain <> 'total' or (category is null and what is null)
    ),
    constraint report_grain_cache_category_names_no_what check (
        grain <> 'category' or what is null
    ),
    constraint report_grain_cache_only_a_total_is_empty check (
        task_count > 0 or (grain = 'total' and task_count = 0)
    ),
    constraint report_grain_cache_task_has_a_message check (message_count >= task_count)
);

comment on table corpus.report_grain_cache is
'The counts that reports show, by slice: one corpus, service and severity. Every slice that was '
'populated has its total row, an empty one too; a slice without one is cold.';
comment on column corpus.report_grain_cache.grain is
'What the row counts. A null in category or what means all of them only where the grain says so; '
'else it is the name of the messages that have none.';
comment on column corpus.report_grain_cache.task_count is
'Distinct tasks.';
comment on column corpus.report_grain_cache.computed_at is
'When the slice was populated; one value per slice.';

-- A null in category or what is a value like any other here, and not the same as ''.
-- (nulls not distinct says this in one word, but only from PostgreSQL 15 on.)

create unique index report_grain_cache_key on corpus.report_grain_cache (
    corpus_id,
    service_id,
    severity,
    grain,
    (category is null),
    (coalesce(category, '')),
    (what is null),
    (coalesce(what, ''))
);

comment on index corpus.report_grain_cache_key is
'corpus.report_slice, corpus.populate_scope, corpus.invalidate_scope: the rows of a slice, each '
'counted once.';
