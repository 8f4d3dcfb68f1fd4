CREATE SCHEMA corpus;

COMMENT ON SCHEMA corpus IS 'Documents, the messages of their conversion logs, and reports over them.';

CREATE SCHEMA cortex;

COMMENT ON SCHEMA cortex IS 'Background jobs: one row is one job (pycortex).';

CREATE TYPE corpus.grain AS ENUM (
    'total',
    'category',
    'what'
);

COMMENT ON TYPE corpus.grain IS 'How fine a row of a report counts: the whole slice, one category, or one (category, what).';

CREATE TYPE cortex.debounce_mode AS ENUM (
    'active',
    'queued'
);

COMMENT ON TYPE cortex.debounce_mode IS 'Which jobs of a scope keep a new one out: any active job, or only one that still waits.';

CREATE TYPE cortex.interrupt_policy AS ENUM (
    'leave',
    'requeue'
);

COMMENT ON TYPE cortex.interrupt_policy IS 'What becomes of an interrupted job: it stays so, or is tried again while attempts are left.';

CREATE TYPE cortex.job_status AS ENUM (
    'queued',
    'running',
    'succeeded',
    'failed',
    'interrupted',
    'cancelled'
);

COMMENT ON TYPE cortex.job_status IS 'Life of a job: queued and running are active, the other four are terminal.';

CREATE DOMAIN cortex."json_object" AS jsonb
	CONSTRAINT json_object_is_an_object CHECK ((jsonb_typeof(VALUE) = 'object'::text));

COMMENT ON DOMAIN cortex."json_object" IS 'A JSON object, not another JSON value.';

CREATE TYPE cortex.verdict AS ENUM (
    'continue',
    'cancel',
    'stop'
);

COMMENT ON TYPE cortex.verdict IS 'What a job hears when it steps: go on, wind down because somebody asked, or stop: the job is no longer yours.';

CREATE FUNCTION corpus.apply_changes(run integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_mergejoin TO 'off'
    SET work_mem TO '64MB'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $_$ … $_$;

COMMENT ON FUNCTION corpus.apply_changes(run integer) IS 'Brings what a run has kept up to date; says whether it could.';

CREATE FUNCTION corpus.begin_run(corpus_id integer, service_id integer, severity text, keeps boolean DEFAULT false, OUT run integer, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.begin_run(corpus_id integer, service_id integer, severity text, keeps boolean, OUT run integer, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint) IS 'Begins to count a slice of the reports in ranges of its tasks.';

CREATE FUNCTION corpus.check_documents(entries text[], statuses integer[]) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.check_documents(entries text[], statuses integer[]) IS 'Raises unless each of these can be a document with its status.';

CREATE FUNCTION corpus.check_name(name text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.check_name(name text) IS 'Raises unless this can be the name of a corpus or a service.';

CREATE FUNCTION corpus.clear_runs(batch_size integer DEFAULT 20000) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.clear_runs(batch_size integer) IS 'Clears away what counts of reports left that nobody needs any more; returns how many rows.';

CREATE FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval DEFAULT '00:00:02'::interval, actor text DEFAULT ''::text) RETURNS TABLE(ready boolean, uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval, actor text) IS 'Has a slice of the reports counted: at once if that fits the budget, else by a job, which it names.';

CREATE FUNCTION corpus.count_range(run integer, first_task bigint, last_task bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.count_range(run integer, first_task bigint, last_task bigint) IS 'Counts one range of the tasks of a run.';

CREATE FUNCTION corpus.count_tasks(corpus_id integer, service_id integer, severity text, first_task bigint, last_task bigint, dense boolean) RETURNS TABLE(grain corpus.grain, category text, what text, task_count bigint, message_count bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_sort TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'on'
    SET enable_nestloop TO 'on'
    SET hash_mem_multiplier TO '8'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $_$ … $_$;

COMMENT ON FUNCTION corpus.count_tasks(corpus_id integer, service_id integer, severity text, first_task bigint, last_task bigint, dense boolean) IS 'Counts the messages of one severity over a range of tasks.';

CREATE FUNCTION corpus.drop_run(run integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.drop_run(run integer) IS 'Gives up a run that counts a slice of the reports.';

CREATE FUNCTION corpus.drop_slice(corpus_id integer, service_id integer, severity text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.drop_slice(corpus_id integer, service_id integer, severity text) IS 'Drops the cached rows of one slice of the reports; returns how many.';

CREATE FUNCTION corpus.finish_run(run integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_sort TO 'off'
    SET hash_mem_multiplier TO '8'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION corpus.finish_run(run integer) IS 'Publishes the counts of a run; returns the rows of the slice.';

CREATE FUNCTION corpus.forget_grains(corpus_id integer, service_id integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.forget_grains(corpus_id integer, service_id integer) IS 'Gives up what is kept of the tasks of a corpus and service; returns of how many slices.';

CREATE FUNCTION corpus.invalidate_all() RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.invalidate_all() IS 'Drops all cached reports; returns how many rows.';

CREATE FUNCTION corpus.invalidate_scope(corpus_id integer, service_id integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.invalidate_scope(corpus_id integer, service_id integer) IS 'Drops the cached reports of one corpus and service; returns how many rows.';

CREATE FUNCTION corpus.is_watched(severity text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.is_watched(severity text) IS 'Whether changes of messages of this severity are noted task by task.';

CREATE FUNCTION corpus.keep_range(run integer, first_task bigint, last_task bigint) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_mergejoin TO 'off'
    SET enable_sort TO 'off'
    SET hash_mem_multiplier TO '2'
    SET work_mem TO '32MB'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $_$ … $_$;

COMMENT ON FUNCTION corpus.keep_range(run integer, first_task bigint, last_task bigint) IS 'Notes what each task of a range adds to the counts of a run.';

CREATE FUNCTION corpus.lock_slice(corpus_id integer, service_id integer, severity text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.lock_slice(corpus_id integer, service_id integer, severity text) IS 'Holds one slice of the report cache, or with severity null all five of a corpus and service, until the transaction ends.';

CREATE FUNCTION corpus.next_width(width bigint, took interval) RETURNS bigint
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.next_width(width bigint, took interval) IS 'How many task numbers the next range of a count takes, so that it takes about a second.';

CREATE FUNCTION corpus.note_all(severity text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.note_all(severity text) IS 'Notes that anything may have changed for reports of a severity.';

CREATE FUNCTION corpus.note_messages() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.note_messages() IS 'Trigger: notes of which tasks messages came, went or changed.';

CREATE FUNCTION corpus.note_tasks() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.note_tasks() IS 'Trigger: notes which tasks left a slice of the reports or came into one.';

CREATE FUNCTION corpus.open_corpus(name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.open_corpus(name text) IS 'Returns the id of the corpus of this name, which it makes when there is none.';

CREATE FUNCTION corpus.open_service(name text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.open_service(name text) IS 'Returns the id of the service of this name, which it makes when there is none.';

CREATE FUNCTION corpus.populate_scope(corpus_id integer, service_id integer, severity text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.populate_scope(corpus_id integer, service_id integer, severity text) IS 'Counts one slice of the reports anew and replaces it in one go; returns the rows of it.';

CREATE FUNCTION corpus.put_seen(corpus_id integer, service_id integer, severity text, seen pg_snapshot, seen_by xid8, seen_upto bigint, cluster bigint) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.put_seen(corpus_id integer, service_id integer, severity text, seen pg_snapshot, seen_by xid8, seen_upto bigint, cluster bigint) IS 'Notes what the cached rows of a slice of the reports have seen of the changes.';

CREATE FUNCTION corpus.put_tasks(corpus_id integer, service_id integer, entries text[], statuses integer[]) RETURNS TABLE(entry text, task_id bigint, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET plan_cache_mode TO 'force_custom_plan'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION corpus.put_tasks(corpus_id integer, service_id integer, entries text[], statuses integer[]) IS 'Stores documents with their statuses, new ones and ones that are there, without messages; returns the task of each.';

CREATE FUNCTION corpus.refresh_slice(corpus_id integer, service_id integer, severity text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.refresh_slice(corpus_id integer, service_id integer, severity text) IS 'Counts a slice of the reports from what is kept of its tasks; returns its rows, or null if it can''t.';

CREATE FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) RETURNS TABLE(grain corpus.grain, category text, what text, task_count bigint, message_count bigint, computed_at timestamp with time zone, stale boolean)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) IS 'The cached counts of one corpus, service and severity: total, categories, and what is in each; empty when they were not populated.';

CREATE TABLE corpus.run (
    id integer NOT NULL,
    corpus_id integer NOT NULL,
    service_id integer NOT NULL,
    severity text NOT NULL,
    keeps boolean NOT NULL,
    state text DEFAULT 'counting'::text NOT NULL,
    tasks bigint NOT NULL,
    first_task bigint,
    last_task bigint,
    seen pg_snapshot NOT NULL,
    seen_by xid8,
    seen_upto bigint,
    cluster bigint,
    started_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT run_state_is_known CHECK ((state = ANY (ARRAY['counting'::text, 'kept'::text, 'dropped'::text])))
);

COMMENT ON TABLE corpus.run IS 'Counts of a slice that are under way, range by range of its tasks; and of one that is done, what it kept. Private.';

COMMENT ON COLUMN corpus.run.keeps IS 'Whether what each task adds is kept in corpus.kept_task.';

COMMENT ON COLUMN corpus.run.state IS 'counting; kept: its kept rows are what the slice is refreshed from; dropped: to be cleared away.';

COMMENT ON COLUMN corpus.run.seen IS 'As in corpus.slice: what was there before its first range.';

CREATE FUNCTION corpus.require_run(run integer) RETURNS corpus.run
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.require_run(run integer) IS 'The run of this number, or an error if it is not counting.';

CREATE FUNCTION corpus.require_scope(corpus_id integer, service_id integer) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.require_scope(corpus_id integer, service_id integer) IS 'Raises unless there are such a corpus and service.';

CREATE FUNCTION corpus.require_slice(corpus_id integer, service_id integer, severity text) RETURNS void
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.require_slice(corpus_id integer, service_id integer, severity text) IS 'Raises unless there are such a corpus and service, and severity is one.';

CREATE FUNCTION corpus.seen_now(severity text, OUT seen pg_snapshot, OUT seen_by xid8, OUT seen_upto bigint, OUT cluster bigint) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.seen_now(severity text, OUT seen pg_snapshot, OUT seen_by xid8, OUT seen_upto bigint, OUT cluster bigint) IS 'What can be seen of the changes at this moment.';

CREATE FUNCTION corpus.severities() RETURNS TABLE(severity text, lowest integer, highest integer)
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.severities() IS 'The severities and the statuses of the tasks that each takes.';

CREATE FUNCTION corpus.severity_log(severity text) RETURNS regclass
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.severity_log(severity text) IS 'The table that holds the messages of a severity: info, warning, error, fatal or invalid.';

CREATE FUNCTION corpus.show_counts(run integer) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_nestloop TO 'off'
    SET enable_mergejoin TO 'off'
    SET work_mem TO '32MB'
    SET max_parallel_workers_per_gather TO '0'
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION corpus.show_counts(run integer) IS 'Makes the cached rows of a slice those of a run; returns how many.';

CREATE FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) RETURNS boolean
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) IS 'Whether data changed since a slice of the reports was counted; null when it is not counted.';

CREATE FUNCTION corpus.slice_tasks(corpus_id integer, service_id integer, severity text, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint, OUT dense boolean) RETURNS record
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION corpus.slice_tasks(corpus_id integer, service_id integer, severity text, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint, OUT dense boolean) IS 'How many tasks a slice of the reports has, and where.';

CREATE FUNCTION cortex.abandoned_jobs(candidates bigint[]) RETURNS TABLE(id bigint, updated_at timestamp with time zone, reason text)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.abandoned_jobs(candidates bigint[]) IS 'Those of the given jobs whose runner is gone.';

CREATE FUNCTION cortex.analyze_table(name text, lock_timeout text) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.analyze_table(name text, lock_timeout text) IS 'Analyzes one table as the caller, and tells how it went.';

CREATE FUNCTION cortex.attach_backend(job uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.attach_backend(job uuid) IS 'Ties the calling session to a running job, so that it can be watched and ended from outside.';

CREATE FUNCTION cortex.attach_session(job uuid, backend_start timestamp with time zone) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.attach_session(job uuid, backend_start timestamp with time zone) IS 'Ties the calling session, which began at that moment, to a running job.';

CREATE FUNCTION cortex.begin_body(job uuid, attempt integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.begin_body(job uuid, attempt integer) IS 'Says whether the caller may run the body of this attempt: true once.';

CREATE FUNCTION cortex.cancel_job(job uuid, actor text DEFAULT ''::text, hard boolean DEFAULT false) RETURNS cortex.job_status
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.cancel_job(job uuid, actor text, hard boolean) IS 'Ends a waiting job, asks a running one to end; hard also ends what it runs in the database.';

CREATE TABLE cortex.settings (
    only_row boolean DEFAULT true NOT NULL,
    stale_after interval DEFAULT '02:00:00'::interval NOT NULL,
    run_timeout interval,
    queue_timeout interval,
    max_attempts integer DEFAULT 1 NOT NULL,
    backoff interval DEFAULT '00:00:10'::interval NOT NULL,
    backoff_limit interval DEFAULT '01:00:00'::interval NOT NULL,
    on_interrupt cortex.interrupt_policy DEFAULT 'leave'::cortex.interrupt_policy NOT NULL,
    max_running integer,
    keep interval,
    cancel_grace interval DEFAULT '00:00:10'::interval NOT NULL,
    runner_beat interval DEFAULT '00:00:05'::interval NOT NULL,
    runner_grace interval DEFAULT '00:00:30'::interval NOT NULL,
    CONSTRAINT settings_backoff_is_within_its_limit CHECK (((backoff >= '00:00:00'::interval) AND (backoff <= backoff_limit))),
    CONSTRAINT settings_beat_is_positive CHECK ((runner_beat > '00:00:00'::interval)),
    CONSTRAINT settings_cancel_grace_is_not_negative CHECK ((cancel_grace >= '00:00:00'::interval)),
    CONSTRAINT settings_grace_outlasts_three_beats CHECK ((runner_grace >= (runner_beat * (3)::double precision))),
    CONSTRAINT settings_is_one_row CHECK (only_row),
    CONSTRAINT settings_keep_is_not_negative CHECK ((keep >= '00:00:00'::interval)),
    CONSTRAINT settings_max_attempts_is_positive CHECK ((max_attempts > 0)),
    CONSTRAINT settings_max_running_is_positive CHECK ((max_running > 0)),
    CONSTRAINT settings_queue_timeout_is_positive CHECK ((queue_timeout > '00:00:00'::interval)),
    CONSTRAINT settings_requeue_implies_attempts CHECK (((on_interrupt <> 'requeue'::cortex.interrupt_policy) OR (max_attempts > 1))),
    CONSTRAINT settings_run_timeout_is_positive CHECK ((run_timeout > '00:00:00'::interval)),
    CONSTRAINT settings_stale_after_is_positive CHECK ((stale_after > '00:00:00'::interval))
);

COMMENT ON TABLE cortex.settings IS 'The defaults for every kind, and the rhythm of runners; one row.';

COMMENT ON COLUMN cortex.settings.stale_after IS 'A running job that has not stepped for this long is presumed hung.';

COMMENT ON COLUMN cortex.settings.run_timeout IS 'A job may run this long, however alive it is; null for ever.';

COMMENT ON COLUMN cortex.settings.queue_timeout IS 'A job that anybody may take may wait this long; null for ever.';

COMMENT ON COLUMN cortex.settings.max_attempts IS 'How often a job is started at most, before its failure or interruption is final.';

COMMENT ON COLUMN cortex.settings.backoff IS 'Pause before the second attempt; it doubles with each one, up to backoff_limit.';

COMMENT ON COLUMN cortex.settings.max_running IS 'How many jobs of one kind run at once, over all runners; null for any number.';

COMMENT ON COLUMN cortex.settings.keep IS 'How long finished jobs are kept; null keeps them for ever.';

COMMENT ON COLUMN cortex.settings.cancel_grace IS 'How long a hard cancel waits between cancelling a statement and ending its session.';

COMMENT ON COLUMN cortex.settings.runner_beat IS 'How often a runner says that it lives.';

COMMENT ON COLUMN cortex.settings.runner_grace IS 'How long a runner without its lease may be silent before its jobs are orphans.';

COMMENT ON CONSTRAINT settings_grace_outlasts_three_beats ON cortex.settings IS 'One or two lost beats must never look like a death.';

COMMENT ON CONSTRAINT settings_requeue_implies_attempts ON cortex.settings IS 'A job that kills its process must not be tried for ever.';

CREATE FUNCTION cortex.check_rules(rules cortex.settings, kind text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.check_rules(rules cortex.settings, kind text) IS 'Raises unless these settings can work together.';

CREATE FUNCTION cortex.check_spawn(kind text, actor text, params jsonb, debounce_scope jsonb, run_at timestamp with time zone) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.check_spawn(kind text, actor text, params jsonb, debounce_scope jsonb, run_at timestamp with time zone) IS 'Raises unless these arguments make a job.';

CREATE FUNCTION cortex.clock() RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.clock() IS 'The database''s current time, for use in views.';

CREATE TABLE cortex.job (
    id bigint NOT NULL,
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    kind text NOT NULL,
    status cortex.job_status DEFAULT 'queued'::cortex.job_status NOT NULL,
    progress_current bigint DEFAULT 0 NOT NULL,
    progress_total bigint,
    message text DEFAULT ''::text NOT NULL,
    actor text DEFAULT ''::text NOT NULL,
    params cortex."json_object" DEFAULT '{}'::jsonb NOT NULL,
    result jsonb,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    started_at timestamp with time zone,
    finished_at timestamp with time zone,
    attempt integer DEFAULT 0 NOT NULL,
    priority integer DEFAULT 0 NOT NULL,
    run_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    debounce_scope cortex."json_object",
    debounce_on cortex.debounce_mode DEFAULT 'active'::cortex.debounce_mode NOT NULL,
    runner uuid,
    pinned boolean DEFAULT false NOT NULL,
    cancel_requested_at timestamp with time zone,
    cancel_requested_by text DEFAULT ''::text NOT NULL,
    cancel_hard_at timestamp with time zone,
    backend_pid integer,
    backend_start timestamp with time zone,
    begun_attempt integer,
    CONSTRAINT job_actor_is_at_most_200_characters CHECK ((length(actor) <= 200)),
    CONSTRAINT job_attempt_is_not_negative CHECK ((attempt >= 0)),
    CONSTRAINT job_backend_has_pid_and_start CHECK (((backend_pid IS NULL) = (backend_start IS NULL))),
    CONSTRAINT job_finished_not_before_started CHECK ((finished_at >= started_at)),
    CONSTRAINT job_hard_cancel_implies_cancel CHECK (((cancel_hard_at IS NULL) OR (cancel_requested_at IS NOT NULL))),
    CONSTRAINT job_kind_is_1_to_200_characters CHECK (((length(kind) >= 1) AND (length(kind) <= 200))),
    CONSTRAINT job_message_is_at_most_4000_characters CHECK ((length(message) <= 4000)),
    CONSTRAINT job_outcome_of_a_body_implies_started CHECK (((status <> ALL (ARRAY['succeeded'::cortex.job_status, 'failed'::cortex.job_status])) OR (started_at IS NOT NULL))),
    CONSTRAINT job_pinned_implies_runner CHECK (((NOT pinned) OR (runner IS NOT NULL))),
    CONSTRAINT job_running_implies_started CHECK (((status <> 'running'::cortex.job_status) OR (started_at IS NOT NULL))),
    CONSTRAINT job_terminal_exactly_when_finished CHECK (((status = ANY (ARRAY['queued'::cortex.job_status, 'running'::cortex.job_status])) = (finished_at IS NULL)))
);

COMMENT ON TABLE cortex.job IS 'One row is one job. Private: callers use the routines and the view cortex.jobs.';

COMMENT ON COLUMN cortex.job.id IS 'Order of arrival, and tie-break of every listing; uuid is the name for the outside.';

COMMENT ON COLUMN cortex.job.message IS 'What the job is doing, or how it ended.';

COMMENT ON COLUMN cortex.job.result IS 'What the body returned. SQL null: nothing recorded; JSON null: the body returned nothing.';

COMMENT ON COLUMN cortex.job.updated_at IS 'Last sign of life: its spawn, start, last step, finish or return to the queue.';

COMMENT ON COLUMN cortex.job.attempt IS 'How often the job was started; the fence that keeps a lost attempt from stepping or finishing.';

COMMENT ON COLUMN cortex.job.run_at IS 'Not to be claimed before.';

COMMENT ON COLUMN cortex.job.debounce_scope IS 'Null: not debounced. An object: the scope within which its kind is debounced; jsonb equality.';

COMMENT ON COLUMN cortex.job.runner IS 'Whose job it is: set at spawn (no worker claims it) or by the claim.';

COMMENT ON COLUMN cortex.job.pinned IS 'Spawned for its runner: only that process has the body, so no other may try again.';

COMMENT ON COLUMN cortex.job.cancel_hard_at IS 'When somebody asked to end the statement of the attached session too, and after the grace the session.';

COMMENT ON COLUMN cortex.job.backend_pid IS 'The session that runs the job''s SQL, with backend_start so that a re-used pid is not taken for it.';

COMMENT ON COLUMN cortex.job.begun_attempt IS 'The latest attempt whose body was begun by an executor that might begin it again; else null.';

COMMENT ON CONSTRAINT job_terminal_exactly_when_finished ON cortex.job IS 'A job that is over says when; one that says when is over.';

CREATE VIEW cortex.jobs AS
 SELECT uuid,
    kind,
    status,
        CASE status
            WHEN 'queued'::cortex.job_status THEN 'pending'::text
            WHEN 'succeeded'::cortex.job_status THEN 'ok'::text
            ELSE (status)::text
        END AS health,
    progress_current,
    progress_total,
    message,
    actor,
    (params)::jsonb AS params,
    result,
    created_at,
    updated_at,
    started_at,
    finished_at,
    GREATEST(COALESCE(date_part('epoch'::text, (COALESCE(finished_at, updated_at) - started_at)), (0)::double precision), (0)::double precision) AS duration_seconds,
    GREATEST(date_part('epoch'::text, (( SELECT cortex.clock() AS clock) - updated_at)), (0)::double precision) AS seconds_since_update,
    attempt,
    priority,
    run_at,
    (debounce_scope)::jsonb AS debounce_scope,
    runner,
    cancel_requested_at,
    cancel_requested_by
   FROM cortex.job j;

COMMENT ON VIEW cortex.jobs IS 'All jobs, one row each, with what people ask about them.';

COMMENT ON COLUMN cortex.jobs.health IS 'ok, failed, interrupted, cancelled, pending or running.';

COMMENT ON COLUMN cortex.jobs.duration_seconds IS 'From start to finish, to the last sign of life while it runs; 0 before the start.';

COMMENT ON COLUMN cortex.jobs.seconds_since_update IS 'Age of the last sign of life, by the clock of the database.';

COMMENT ON COLUMN cortex.jobs.cancel_requested_by IS 'Who asked for its end: the actor they named, or else the role that was logged in.';

CREATE FUNCTION cortex.claim_jobs(runner uuid, kinds text[], max_jobs integer DEFAULT 1) RETURNS SETOF cortex.jobs
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_sort TO 'off'
    SET enable_seqscan TO 'off'
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.claim_jobs(runner uuid, kinds text[], max_jobs integer) IS 'Takes ready jobs of these kinds from the queue for a runner.';

CREATE FUNCTION cortex.clip(whole text) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.clip(whole text) IS 'A text of at most 4000 characters, cut in the middle with a visible mark.';

CREATE FUNCTION cortex.configure(stale_after interval DEFAULT NULL::interval, run_timeout interval DEFAULT NULL::interval, queue_timeout interval DEFAULT NULL::interval, max_attempts integer DEFAULT NULL::integer, backoff interval DEFAULT NULL::interval, backoff_limit interval DEFAULT NULL::interval, on_interrupt cortex.interrupt_policy DEFAULT NULL::cortex.interrupt_policy, max_running integer DEFAULT NULL::integer, keep interval DEFAULT NULL::interval, cancel_grace interval DEFAULT NULL::interval, runner_beat interval DEFAULT NULL::interval, runner_grace interval DEFAULT NULL::interval, reset text[] DEFAULT NULL::text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.configure(stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, backoff_limit interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, cancel_grace interval, runner_beat interval, runner_grace interval, reset text[]) IS 'Sets defaults and the rhythm of runners; reset names those that go back to what they were at first.';

CREATE FUNCTION cortex.configure_kind(kind text, stale_after interval DEFAULT NULL::interval, run_timeout interval DEFAULT NULL::interval, queue_timeout interval DEFAULT NULL::interval, max_attempts integer DEFAULT NULL::integer, backoff interval DEFAULT NULL::interval, on_interrupt cortex.interrupt_policy DEFAULT NULL::cortex.interrupt_policy, max_running integer DEFAULT NULL::integer, keep interval DEFAULT NULL::interval, reset text[] DEFAULT NULL::text[]) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.configure_kind(kind text, stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, reset text[]) IS 'Sets what one kind does otherwise than the settings; reset names what goes back to them.';

CREATE FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric DEFAULT 24) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) IS 'Jobs created in the last so many hours that are in this state now.';

CREATE FUNCTION cortex.cron_entry() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.cron_entry() IS 'Name of the pg_cron entry that runs the upkeep of this database.';

CREATE FUNCTION cortex.cron_field(field text, lowest integer, highest integer, names text[]) RETURNS integer[]
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.cron_field(field text, lowest integer, highest integer, names text[]) IS 'The numbers that a field of a cron line stands for.';

CREATE FUNCTION cortex.cron_name(what text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.cron_name(what text) IS 'Name of an entry of this database in pg_cron.';

CREATE FUNCTION cortex.db_now() RETURNS timestamp with time zone
    LANGUAGE sql SECURITY DEFINER PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.db_now() IS 'The database''s current time.';

CREATE FUNCTION cortex.drop_events() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET enable_seqscan TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.drop_events() IS 'Trigger: deletes the events of deleted jobs.';

CREATE FUNCTION cortex.end_backends() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.end_backends() IS 'Ends sessions whose jobs were cancelled hard or interrupted and that run on after the grace.';

CREATE FUNCTION cortex.end_body(job uuid, attempt integer, result jsonb) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.end_body(job uuid, attempt integer, result jsonb) IS 'Ends a job whose body in SQL returned.';

CREATE FUNCTION cortex.fail_body(job uuid, attempt integer, state text, message text) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.fail_body(job uuid, attempt integer, state text, message text) IS 'Ends a job whose body in SQL raised an error.';

CREATE FUNCTION cortex.find_body(schema_name text, routine_name text, run_as text, OUT id oid, OUT is_procedure boolean, OUT commits boolean) RETURNS record
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.find_body(schema_name text, routine_name text, run_as text, OUT id oid, OUT is_procedure boolean, OUT commits boolean) IS 'The routine that is a body, if that role may and should run it.';

CREATE FUNCTION cortex.find_job(job uuid) RETURNS SETOF cortex.jobs
    LANGUAGE plpgsql SECURITY DEFINER ROWS 1 PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.find_job(job uuid) IS 'The job with this uuid, if there is one.';

CREATE FUNCTION cortex.finish_job(job uuid, status cortex.job_status, message text DEFAULT ''::text, result jsonb DEFAULT NULL::jsonb, attempt integer DEFAULT NULL::integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.finish_job(job uuid, status cortex.job_status, message text, result jsonb, attempt integer) IS 'Writes the outcome of a job; final unless the job was only presumed dead.';

CREATE FUNCTION cortex.free_slots(kind text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '2s'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.free_slots(kind text) IS 'How many more jobs of this kind may start; null for any number.';

CREATE FUNCTION cortex.hold_session() RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.hold_session() IS 'Sets the calling session up to hold a runner''s lease.';

CREATE FUNCTION cortex.hold_step(job uuid, current bigint, total bigint, attempt integer) RETURNS cortex.verdict
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.hold_step(job uuid, current bigint, total bigint, attempt integer) IS 'Keeps the step of a body that does not commit, until its end.';

CREATE FUNCTION cortex.in_the_way(relation oid, snapshots boolean) RETURNS text[]
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.in_the_way(relation oid, snapshots boolean) IS 'Sessions that a reindex or analyze of a table would wait for.';

CREATE FUNCTION cortex.in_words(span interval) RETURNS text
    LANGUAGE plpgsql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.in_words(span interval) IS 'A span of time in words, for messages.';

CREATE FUNCTION cortex.interrupt_abandoned(candidates bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.interrupt_abandoned(candidates bigint[]) IS 'Ends those of the given jobs whose runner is gone.';

CREATE FUNCTION cortex.interrupt_active(runner uuid, message text) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.interrupt_active(runner uuid, message text) IS 'Interrupts all active jobs, or those of one runner.';

CREATE FUNCTION cortex.interrupt_jobs(ids bigint[], reasons text[], as_seen timestamp with time zone[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET lock_timeout TO '500ms'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.interrupt_jobs(ids bigint[], reasons text[], as_seen timestamp with time zone[]) IS 'Interrupts jobs, each with its reason, unless they have changed since they were looked at.';

CREATE FUNCTION cortex.interrupt_orphans(runner uuid DEFAULT NULL::uuid) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.interrupt_orphans(runner uuid) IS 'Interrupts all active jobs, or those of one runner.';

CREATE FUNCTION cortex.interrupt_silent(candidates bigint[], older_than interval) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.interrupt_silent(candidates bigint[], older_than interval) IS 'Ends those of the given jobs that have been silent for too long.';

CREATE FUNCTION cortex.keep_runner(runner uuid) RETURNS TABLE(job uuid, verdict cortex.verdict, attempt integer, hard boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.keep_runner(runner uuid) IS 'A runner''s beat; returns its jobs that should stop.';

CREATE FUNCTION cortex.kinds_to_work(role text) RETURNS text[]
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.kinds_to_work(role text) IS 'Kinds with a body in SQL that this role may run, and that wait.';

CREATE FUNCTION cortex.list_jobs(kinds text[] DEFAULT NULL::text[], statuses cortex.job_status[] DEFAULT NULL::cortex.job_status[], actor text DEFAULT NULL::text, scope jsonb DEFAULT NULL::jsonb, since timestamp with time zone DEFAULT NULL::timestamp with time zone, after_created_at timestamp with time zone DEFAULT NULL::timestamp with time zone, after_uuid uuid DEFAULT NULL::uuid, max_rows integer DEFAULT 50) RETURNS SETOF cortex.jobs
    LANGUAGE plpgsql SECURITY DEFINER ROWS 50
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) IS 'Jobs of these kinds, statuses, this actor and scope, newest first, a page at a time.';

CREATE FUNCTION cortex.list_recent(active_only boolean DEFAULT false, max_rows integer DEFAULT 50) RETURNS SETOF cortex.jobs
    LANGUAGE plpgsql SECURITY DEFINER ROWS 50
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) IS 'The newest jobs, or the newest active ones; zombies are closed first.';

CREATE FUNCTION cortex.list_schedules() RETURNS TABLE(name text, schedule text, kind text, params jsonb, active boolean, last_run_at timestamp with time zone, last_run_status text, last_run_message text, next_run_at timestamp with time zone, last_job uuid, last_job_status cortex.job_status, last_job_message text)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.list_schedules() IS 'Jobs that come back: when, how the last run went, when the next one is.';

CREATE FUNCTION cortex.lock_space() RETURNS integer
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.lock_space() IS 'First key of all advisory locks of this schema.';

CREATE FUNCTION cortex.lost_bodies() RETURNS TABLE(job uuid, attempt integer, cancelled boolean, runner uuid, pid integer, since timestamp with time zone, gone boolean)
    LANGUAGE sql STABLE SECURITY DEFINER ROWS 1
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.lost_bodies() IS 'Jobs whose body in SQL is over, though nobody wrote its end.';

CREATE FUNCTION cortex.maintain() RETURNS TABLE(ran boolean, stale integer, overdue integer, orphaned integer, purged integer, cron_runs_purged integer, runners_purged integer)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.maintain() IS 'Closes stale, overdue and orphaned jobs, purges old ones, and notes that it ran.';

CREATE FUNCTION cortex.maintenance_key(relation oid) RETURNS integer
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.maintenance_key(relation oid) IS 'Second key of the advisory lock on a table that is being reindexed or analyzed.';

CREATE FUNCTION cortex.maintenance_limits(lock_timeout interval, statement_timeout interval) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.maintenance_limits(lock_timeout interval, statement_timeout interval) IS 'The limits of a maintenance job as params.';

CREATE FUNCTION cortex.maintenance_plan(kind text, tables text[] DEFAULT NULL::text[]) RETURNS TABLE(table_name text, partition_of text, table_bytes bigint, index_bytes bigint, indexes jsonb, last_analyzed_at timestamp with time zone, live_rows bigint, modified_rows bigint, in_the_way text[], plan text)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) IS 'What a reindex or analyze of the named tables, or of the usual ones, would do now, and why.';

CREATE FUNCTION cortex.maintenance_tables() RETURNS text[]
    LANGUAGE sql IMMUTABLE PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.maintenance_tables() IS 'The tables that reindex and analyze take when none are named.';

CREATE FUNCTION cortex.metrics() RETURNS text
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.metrics() IS 'The state of the job system as Prometheus text.';

CREATE FUNCTION cortex.next_run(line text, after timestamp with time zone DEFAULT NULL::timestamp with time zone, zone text DEFAULT 'GMT'::text) RETURNS timestamp with time zone
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.next_run(line text, after timestamp with time zone, zone text) IS 'When a cron line comes true next.';

CREATE FUNCTION cortex.note_end(job uuid, note text, attempt integer) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.note_end(job uuid, note text, attempt integer) IS 'Adds what became of the body to the message of an interrupted job.';

CREATE FUNCTION cortex.outwait(id bigint) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    SET lock_timeout TO '2s'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.outwait(id bigint) IS 'Waits a moment for whoever has a job''s row.';

CREATE FUNCTION cortex.overview(kind text DEFAULT NULL::text, hours numeric DEFAULT 1) RETURNS TABLE(at timestamp with time zone, queued bigint, ready bigint, oldest_ready_at timestamp with time zone, running bigint, oldest_heartbeat_at timestamp with time zone, succeeded bigint, failed bigint, interrupted bigint, cancelled bigint, runners_alive bigint, last_maintenance_at timestamp with time zone)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.overview(kind text, hours numeric) IS 'What waits, runs and ended lately, and who is there: one row, of one kind or of all.';

CREATE FUNCTION cortex.partition_tree(relation oid) RETURNS TABLE(relation_id oid, relkind text, relation_name text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.partition_tree(relation oid) IS 'A table and its partitions of all levels, without a lock.';

CREATE FUNCTION cortex.prometheus_labels(kind text, status cortex.job_status) RETURNS text
    LANGUAGE sql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.prometheus_labels(kind text, status cortex.job_status) IS 'Kind and status as labels of a Prometheus sample.';

CREATE FUNCTION cortex.purge_cron_runs() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.purge_cron_runs() IS 'Deletes the record of our own pg_cron runs that ended over a day ago, but the last of a schedule.';

CREATE FUNCTION cortex.purge_expired(batch_size integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.purge_expired(batch_size integer) IS 'Deletes those of one batch of finished jobs that are older than they are to be kept.';

CREATE FUNCTION cortex.purge_jobs(older_than interval DEFAULT NULL::interval, batch_size integer DEFAULT 10000) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.purge_jobs(older_than interval, batch_size integer) IS 'Deletes one batch of finished jobs that are older than they are to be kept.';

CREATE FUNCTION cortex.purge_plan(older_than interval DEFAULT NULL::interval) RETURNS TABLE(kind text, status cortex.job_status, jobs bigint)
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.purge_plan(older_than interval) IS 'What purge_jobs would delete, counted by kind and status; deletes nothing.';

CREATE FUNCTION cortex.purge_runners(batch_size integer) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.purge_runners(batch_size integer) IS 'Deletes runners of one batch that are long gone and that nothing tells of.';

CREATE FUNCTION cortex.put_cron_entry(entry text, schedule text, statement text, command text) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.put_cron_entry(entry text, schedule text, statement text, command text) IS 'Puts an entry on pg_cron as the caller''s; idempotent.';

CREATE FUNCTION cortex.put_sql_kind(kind text, schema_name text, routine_name text, run_as text, commits boolean) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.put_sql_kind(kind text, schema_name text, routine_name text, run_as text, commits boolean) IS 'Notes the routine that is the body of a kind, or that it has none.';

CREATE FUNCTION cortex.reap_orphans() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.reap_orphans() IS 'Interrupts every active job whose runner is gone.';

CREATE FUNCTION cortex.reap_overdue() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.reap_overdue() IS 'Interrupts jobs that have run or waited for longer than their kind allows.';

CREATE FUNCTION cortex.reap_stale(older_than interval DEFAULT NULL::interval) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.reap_stale(older_than interval) IS 'Interrupts running jobs that have been silent for longer than their kind allows, or than the given time.';

CREATE FUNCTION cortex.record_event() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.record_event() IS 'Trigger: writes an event row and notifies at every change of state.';

CREATE FUNCTION cortex.record_spawns() RETURNS trigger
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.record_spawns() IS 'Trigger: writes an event row and notifies for each new job.';

CREATE FUNCTION cortex.refused_commit() RETURNS text
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.refused_commit() IS 'The server''s words for a commit that is not possible.';

CREATE FUNCTION cortex.register_runner(name text, host text, pid integer) RETURNS uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.register_runner(name text, host text, pid integer) IS 'Enters a process that runs jobs; the calling session holds its lease.';

CREATE FUNCTION cortex.register_sql_kind(kind text, procedure regprocedure, run_as text DEFAULT NULL::text, commits boolean DEFAULT NULL::boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.register_sql_kind(kind text, procedure regprocedure, run_as text, commits boolean) IS 'The same, for whoever has the routine as a regprocedure.';

CREATE FUNCTION cortex.register_sql_kind(kind text, procedure text, run_as text DEFAULT NULL::text, commits boolean DEFAULT NULL::boolean) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.register_sql_kind(kind text, procedure text, run_as text, commits boolean) IS 'Says which procedure or function is the body of a kind inside the database; null: none.';

CREATE FUNCTION cortex.relation_bytes(relation oid) RETURNS bigint
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    SET lock_timeout TO '100ms'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.relation_bytes(relation oid) IS 'Bytes of a table or an index; null where it is locked at this moment.';

CREATE FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) IS 'Whether a count of this slice of the reports is queued or running.';

CREATE FUNCTION cortex.report_slice(corpus_id integer, service_id integer, severity text) RETURNS jsonb
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.report_slice(corpus_id integer, service_id integer, severity text) IS 'The params of the job that counts one slice of the reports.';

CREATE FUNCTION cortex.require_cron(command text, statement text) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.require_cron(command text, statement text) IS 'Raises, with what to do, unless pg_cron can be called in this database.';

CREATE FUNCTION cortex.require_job(job uuid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.require_job(job uuid) IS 'Raises unless there is such a job.';

CREATE FUNCTION cortex.require_reports() RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.require_reports() IS 'Raises unless schema corpus is installed.';

CREATE FUNCTION cortex.require_runner(runner uuid) RETURNS void
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.require_runner(runner uuid) IS 'Raises unless there is such a runner that has not retired.';

CREATE FUNCTION cortex.require_severity(severity text) RETURNS void
    LANGUAGE plpgsql IMMUTABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.require_severity(severity text) IS 'Raises unless this is a severity: info, warning, error, fatal or invalid.';

CREATE FUNCTION cortex.rerun_job(job uuid, actor text DEFAULT ''::text) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.rerun_job(job uuid, actor text) IS 'Spawns a job of the same kind, params and scope as one that is over.';

CREATE FUNCTION cortex.reset_values(relation regclass, names text[]) RETURNS jsonb
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.reset_values(relation regclass, names text[]) IS 'The values that named settings have at first.';

CREATE FUNCTION cortex.resolve_tables(tables text[], catalogs boolean) RETURNS text[]
    LANGUAGE plpgsql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.resolve_tables(tables text[], catalogs boolean) IS 'The named tables, or by default the maintenance tables, qualified and quoted; raises for a name that is not a table.';

CREATE FUNCTION cortex.retire_runner(runner uuid, message text DEFAULT ''::text) RETURNS integer
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.retire_runner(runner uuid, message text) IS 'Ends a runner''s registration; its unfinished jobs become interrupted.';

CREATE FUNCTION cortex.retry_jobs(ids bigint[]) RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.retry_jobs(ids bigint[]) IS 'Queues failed and interrupted jobs again while their kind has attempts left.';

CREATE FUNCTION cortex.rules(kind text) RETURNS cortex.settings
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.rules(kind text) IS 'The settings as they hold for one kind.';

CREATE PROCEDURE cortex.run_analyze(IN job uuid)
    LANGUAGE plpgsql
    AS $_$ … $_$;

COMMENT ON PROCEDURE cortex.run_analyze(IN job uuid) IS 'Body of kind analyze: refreshes the statistics of tables, one by one.';

CREATE PROCEDURE cortex.run_populate_report(IN job uuid)
    LANGUAGE plpgsql
    AS $$ … $$;

COMMENT ON PROCEDURE cortex.run_populate_report(IN job uuid) IS 'Body of kind populate_report: counts one slice of the reports, in ranges of its tasks.';

CREATE FUNCTION cortex.run_refresh_reports(job uuid) RETURNS jsonb
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.run_refresh_reports(job uuid) IS 'Body of kind refresh_reports: drops all cached reports.';

CREATE FUNCTION cortex.schedule_entry(name text) RETURNS text
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.schedule_entry(name text) IS 'Name of the pg_cron entry of a schedule.';

CREATE FUNCTION cortex.schedule_job(name text, schedule text, kind text, params jsonb DEFAULT '{}'::jsonb, actor text DEFAULT ''::text, debounce_scope jsonb DEFAULT '{}'::jsonb, debounce_on cortex.debounce_mode DEFAULT 'active'::cortex.debounce_mode, priority integer DEFAULT 0) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.schedule_job(name text, schedule text, kind text, params jsonb, actor text, debounce_scope jsonb, debounce_on cortex.debounce_mode, priority integer) IS 'Spawns a job again and again, by pg_cron; idempotent by name.';

CREATE FUNCTION cortex.schedule_maintenance(schedule text DEFAULT '* * * * *'::text) RETURNS bigint
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.schedule_maintenance(schedule text) IS 'Puts the upkeep of this database on pg_cron; idempotent.';

CREATE FUNCTION cortex.schedule_work(schedule text DEFAULT '* * * * *'::text, max_jobs integer DEFAULT 100) RETURNS bigint
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.schedule_work(schedule text, max_jobs integer) IS 'Lets pg_cron run jobs whose kind has a body in SQL, as the caller; idempotent.';

CREATE FUNCTION cortex.schema_version() RETURNS text
    LANGUAGE sql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.schema_version() IS 'Name of the newest migration that was applied to this database.';

CREATE FUNCTION cortex.set_running(job uuid, runner uuid DEFAULT NULL::uuid) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.set_running(job uuid, runner uuid) IS 'Takes one queued job to running; says whether it did.';

CREATE FUNCTION cortex.settle_bodies() RETURNS integer
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.settle_bodies() IS 'Writes the end of bodies in SQL whose error could not be caught.';

CREATE FUNCTION cortex.shortest_keep() RETURNS numeric
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.shortest_keep() IS 'Seconds for which finished jobs of any kind are kept at least; null for ever.';

CREATE FUNCTION cortex.signal_backend(pid integer, backend_start timestamp with time zone, terminate boolean) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.signal_backend(pid integer, backend_start timestamp with time zone, terminate boolean) IS 'Cancels the statement of a session, or ends it, unless its pid is somebody else''s by now.';

CREATE FUNCTION cortex.silent_jobs(candidates bigint[], older_than interval) RETURNS TABLE(id bigint, updated_at timestamp with time zone, stale_after interval)
    LANGUAGE plpgsql STABLE ROWS 1
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.silent_jobs(candidates bigint[], older_than interval) IS 'Those of the given jobs that have been silent for too long.';

CREATE FUNCTION cortex.spawn_analyze(actor text DEFAULT ''::text, tables text[] DEFAULT NULL::text[], lock_timeout interval DEFAULT NULL::interval, statement_timeout interval DEFAULT NULL::interval) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_analyze(actor text, tables text[], lock_timeout interval, statement_timeout interval) IS 'Queues an ANALYZE of the named tables, or of the usual ones; limits of each wait for a lock (60 s if left out) and of each statement (none if left out), 0 for none.';

CREATE FUNCTION cortex.spawn_job(kind text, actor text DEFAULT ''::text, params jsonb DEFAULT '{}'::jsonb, debounce_scope jsonb DEFAULT NULL::jsonb, debounce_on cortex.debounce_mode DEFAULT 'active'::cortex.debounce_mode, run_at timestamp with time zone DEFAULT NULL::timestamp with time zone, priority integer DEFAULT 0, runner uuid DEFAULT NULL::uuid) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_job(kind text, actor text, params jsonb, debounce_scope jsonb, debounce_on cortex.debounce_mode, run_at timestamp with time zone, priority integer, runner uuid) IS 'Queues a job, unless an active one of the same kind and debounce scope stands in its place.';

CREATE FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text DEFAULT ''::text, priority integer DEFAULT 0) RETURNS SETOF uuid
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text, priority integer) IS 'Queues one job for each of these params.';

CREATE FUNCTION cortex.spawn_reindex(actor text DEFAULT ''::text, tables text[] DEFAULT NULL::text[], lock_timeout interval DEFAULT NULL::interval, statement_timeout interval DEFAULT NULL::interval) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_reindex(actor text, tables text[], lock_timeout interval, statement_timeout interval) IS 'Queues an online rebuild of the indexes of the named tables, or of the usual ones, for a runner: it can''t be done inside a function, a procedure or a transaction. Limits of each wait for a lock (60 s if left out) and of each statement (none if left out), 0 for none.';

CREATE FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text DEFAULT ''::text) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text) IS 'Queues the count of one slice of the reports: one corpus, service and severity.';

CREATE FUNCTION cortex.spawn_report_refresh(actor text DEFAULT ''::text) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_report_refresh(actor text) IS 'Queues the invalidation of all cached reports.';

CREATE FUNCTION cortex.spawn_scheduled(name text) RETURNS TABLE(uuid uuid, created boolean)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.spawn_scheduled(name text) IS 'Spawns the job of a schedule, as pg_cron does when its time has come.';

CREATE FUNCTION cortex.sql_body(kind text, role text, OUT statement text, OUT gives_value boolean, OUT commits boolean, OUT called text) RETURNS record
    LANGUAGE plpgsql STABLE SECURITY DEFINER
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.sql_body(kind text, role text, OUT statement text, OUT gives_value boolean, OUT commits boolean, OUT called text) IS 'How to run the body of a kind.';

CREATE FUNCTION cortex.start_jobs(ids bigint[], runner uuid) RETURNS void
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.start_jobs(ids bigint[], runner uuid) IS 'Starts a new attempt of queued jobs.';

CREATE FUNCTION cortex.status_counts(hours numeric DEFAULT 24) RETURNS TABLE(kind text, status cortex.job_status, jobs bigint)
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.status_counts(hours numeric) IS 'Jobs by kind and state; terminal ones that ended in the last so many hours.';

CREATE FUNCTION cortex.step(job uuid, current bigint, total bigint DEFAULT NULL::bigint, message text DEFAULT ''::text, attempt integer DEFAULT NULL::integer) RETURNS cortex.verdict
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    SET lock_timeout TO '2s'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.step(job uuid, current bigint, total bigint, message text, attempt integer) IS 'Records progress and the heartbeat of a running job; says whether to go on.';

CREATE FUNCTION cortex.step_jobs(jobs uuid[], current bigint[], total bigint[] DEFAULT NULL::bigint[], message text[] DEFAULT NULL::text[], attempt integer[] DEFAULT NULL::integer[]) RETURNS TABLE(job uuid, verdict cortex.verdict, refusal text)
    LANGUAGE plpgsql SECURITY DEFINER ROWS 100
    SET search_path TO ''
    SET plan_cache_mode TO 'force_generic_plan'
    SET enable_seqscan TO 'off'
    SET enable_hashjoin TO 'off'
    SET enable_mergejoin TO 'off'
    SET jit TO 'off'
    AS $$ … $$;

COMMENT ON FUNCTION cortex.step_jobs(jobs uuid[], current bigint[], total bigint[], message text[], attempt integer[]) IS 'Records progress and the heartbeat of several running jobs; says of each whether to go on.';

CREATE FUNCTION cortex.table_indexes(relation oid) RETURNS TABLE(index_id oid, index_name text, bytes bigint, state text)
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $_$ … $_$;

COMMENT ON FUNCTION cortex.table_indexes(relation oid) IS 'The indexes of a table and its TOAST table, with their sizes and whether they are valid, invalid, dead or left over.';

CREATE FUNCTION cortex.take_cron_entry(entry text, command text) RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.take_cron_entry(entry text, command text) IS 'Takes an entry of the caller''s off pg_cron.';

CREATE FUNCTION cortex.tree_bytes(relation oid) RETURNS bigint
    LANGUAGE sql STABLE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.tree_bytes(relation oid) IS 'Bytes of a table and its partitions, without indexes; null where one of them is locked at this moment.';

CREATE FUNCTION cortex.unschedule_job(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.unschedule_job(name text) IS 'Takes a job''s schedule off pg_cron.';

CREATE FUNCTION cortex.unschedule_maintenance() RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.unschedule_maintenance() IS 'Takes the upkeep of this database off pg_cron.';

CREATE FUNCTION cortex.unschedule_work() RETURNS boolean
    LANGUAGE plpgsql
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.unschedule_work() IS 'Takes the caller''s entry for bodies in SQL off pg_cron.';

CREATE FUNCTION cortex.window_start(hours numeric) RETURNS timestamp with time zone
    LANGUAGE plpgsql PARALLEL SAFE
    SET search_path TO ''
    AS $$ … $$;

COMMENT ON FUNCTION cortex.window_start(hours numeric) IS 'The instant at which a rolling window of so many hours begins.';

CREATE PROCEDURE cortex.work(IN max_jobs integer DEFAULT 1)
    LANGUAGE plpgsql
    AS $$ … $$;

COMMENT ON PROCEDURE cortex.work(IN max_jobs integer) IS 'Claims and runs jobs whose kind has a body inside the database.';

CREATE AGGREGATE corpus.count_marked(place integer, mark integer) (
    SFUNC = pg_catalog.set_bit,
    STYPE = bit,
    INITCOND = '0000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000',
    FINALFUNC = pg_catalog.bit_count
);

COMMENT ON AGGREGATE corpus.count_marked(place integer, mark integer) IS 'Counts distinct places from 0 to 1023, each given with a 1. Serves corpus.count_tasks.';

CREATE TABLE corpus.change (
    id bigint NOT NULL,
    severity text NOT NULL,
    task_id bigint,
    corpus_id integer,
    service_id integer,
    txid xid8 DEFAULT pg_current_xact_id() NOT NULL,
    CONSTRAINT change_scope_is_whole CHECK (((corpus_id IS NULL) = (service_id IS NULL)))
);

COMMENT ON TABLE corpus.change IS 'What changed under the reports, until every slice has seen it; only ever inserted into. Private: written by triggers on the tasks and the messages.';

COMMENT ON COLUMN corpus.change.task_id IS 'A task whose messages of this severity, or whose place in a slice, changed. Null: any task may have.';

COMMENT ON COLUMN corpus.change.corpus_id IS 'Whose slices are concerned; null: those that the task is in now.';

COMMENT ON COLUMN corpus.change.txid IS 'The transaction that made the change, to be compared with what a count has seen.';

ALTER TABLE corpus.change ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.change_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.cleared (
    severity text NOT NULL,
    txid xid8 NOT NULL
);

COMMENT ON TABLE corpus.cleared IS 'Up to where the changes of a severity are cleared away, in terms of transactions. Private.';

COMMENT ON COLUMN corpus.cleared.txid IS 'Changes of earlier transactions are gone: a count that has not seen all of those knows not what it missed.';

CREATE TABLE corpus.corpora (
    id integer NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT corpora_name_is_1_to_200_characters CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

COMMENT ON TABLE corpus.corpora IS 'Collections of documents.';

ALTER TABLE corpus.corpora ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.corpora_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.grain_name (
    id integer NOT NULL,
    category text,
    what text
);

COMMENT ON TABLE corpus.grain_name IS 'Each pair of names that kept rows mention, by number. Private; names that nobody mentions stay.';

ALTER TABLE corpus.grain_name ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.grain_name_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.historical_tasks (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    status integer NOT NULL,
    saved_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT historical_tasks_status_is_known CHECK (((status >= '-5'::integer) AND (status <= 0)))
);

COMMENT ON TABLE corpus.historical_tasks IS 'What the status of a task was before it changed.';

COMMENT ON COLUMN corpus.historical_tasks.saved_at IS 'When the task got another status.';

ALTER TABLE corpus.historical_tasks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.historical_tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.kept_count (
    run integer NOT NULL,
    grain corpus.grain NOT NULL,
    category text,
    what text,
    task_count bigint NOT NULL,
    message_count bigint NOT NULL
);

COMMENT ON TABLE corpus.kept_count IS 'The sums of what the tasks of a run add. Private.';

CREATE TABLE corpus.kept_task (
    run integer NOT NULL,
    task_id bigint NOT NULL,
    names integer[] NOT NULL,
    messages integer[]
);

COMMENT ON TABLE corpus.kept_task IS 'What each task adds to the counts of a run. Private.';

COMMENT ON COLUMN corpus.kept_task.names IS 'Numbers in corpus.grain_name, each once.';

COMMENT ON COLUMN corpus.kept_task.messages IS 'How many messages of each name; null: one of each.';

CREATE TABLE corpus.log_errors (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    category text,
    what text,
    details text,
    CONSTRAINT log_errors_category_is_at_most_100_characters CHECK ((length(category) <= 100)),
    CONSTRAINT log_errors_details_is_at_most_2000_characters CHECK ((length(details) <= 2000)),
    CONSTRAINT log_errors_what_is_at_most_200_characters CHECK ((length(what) <= 200))
);

COMMENT ON TABLE corpus.log_errors IS 'Messages of severity error, one row each.';

ALTER TABLE corpus.log_errors ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.log_errors_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.log_fatals (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    category text,
    what text,
    details text,
    CONSTRAINT log_fatals_category_is_at_most_100_characters CHECK ((length(category) <= 100)),
    CONSTRAINT log_fatals_details_is_at_most_2000_characters CHECK ((length(details) <= 2000)),
    CONSTRAINT log_fatals_what_is_at_most_200_characters CHECK ((length(what) <= 200))
);

COMMENT ON TABLE corpus.log_fatals IS 'Messages of severity fatal, one row each.';

ALTER TABLE corpus.log_fatals ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.log_fatals_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.log_infos (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    category text,
    what text,
    details text,
    CONSTRAINT log_infos_category_is_at_most_100_characters CHECK ((length(category) <= 100)),
    CONSTRAINT log_infos_details_is_at_most_2000_characters CHECK ((length(details) <= 2000)),
    CONSTRAINT log_infos_what_is_at_most_200_characters CHECK ((length(what) <= 200))
);

COMMENT ON TABLE corpus.log_infos IS 'Messages of severity info, one row each.';

ALTER TABLE corpus.log_infos ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.log_infos_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.log_invalids (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    category text,
    what text,
    details text,
    CONSTRAINT log_invalids_category_is_at_most_100_characters CHECK ((length(category) <= 100)),
    CONSTRAINT log_invalids_details_is_at_most_2000_characters CHECK ((length(details) <= 2000)),
    CONSTRAINT log_invalids_what_is_at_most_200_characters CHECK ((length(what) <= 200))
);

COMMENT ON TABLE corpus.log_invalids IS 'Why a document is invalid: no conversion log of it could be read.';

ALTER TABLE corpus.log_invalids ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.log_invalids_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.log_warnings (
    id bigint NOT NULL,
    task_id bigint NOT NULL,
    category text,
    what text,
    details text,
    CONSTRAINT log_warnings_category_is_at_most_100_characters CHECK ((length(category) <= 100)),
    CONSTRAINT log_warnings_details_is_at_most_2000_characters CHECK ((length(details) <= 2000)),
    CONSTRAINT log_warnings_what_is_at_most_200_characters CHECK ((length(what) <= 200))
);

COMMENT ON TABLE corpus.log_warnings IS 'Messages of severity warning, one row each.';

ALTER TABLE corpus.log_warnings ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.log_warnings_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.part (
    run integer NOT NULL,
    grain corpus.grain NOT NULL,
    category text,
    what text,
    task_count bigint NOT NULL,
    message_count bigint NOT NULL
);

COMMENT ON TABLE corpus.part IS 'The counts of ranges of tasks of a run, until they are summed. Private.';

CREATE TABLE corpus.report_grain_cache (
    id bigint NOT NULL,
    corpus_id integer NOT NULL,
    service_id integer NOT NULL,
    severity text NOT NULL,
    grain corpus.grain NOT NULL,
    category text,
    what text,
    task_count bigint NOT NULL,
    message_count bigint NOT NULL,
    computed_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT report_grain_cache_category_names_no_what CHECK (((grain <> 'category'::corpus.grain) OR (what IS NULL))),
    CONSTRAINT report_grain_cache_only_a_total_is_empty CHECK (((task_count > 0) OR ((grain = 'total'::corpus.grain) AND (task_count = 0)))),
    CONSTRAINT report_grain_cache_severity_is_known CHECK ((severity = ANY (ARRAY['info'::text, 'warning'::text, 'error'::text, 'fatal'::text, 'invalid'::text]))),
    CONSTRAINT report_grain_cache_task_has_a_message CHECK ((message_count >= task_count)),
    CONSTRAINT report_grain_cache_total_names_nothing CHECK (((grain <> 'total'::corpus.grain) OR ((category IS NULL) AND (what IS NULL))))
)
WITH (fillfactor='50');

COMMENT ON TABLE corpus.report_grain_cache IS 'The counts that reports show, by slice: one corpus, service and severity. Every slice that was populated has its total row, an empty one too; a slice without one is cold.';

COMMENT ON COLUMN corpus.report_grain_cache.grain IS 'What the row counts. A null in category or what means all of them only where the grain says so; else it is the name of the messages that have none.';

COMMENT ON COLUMN corpus.report_grain_cache.task_count IS 'Distinct tasks.';

COMMENT ON COLUMN corpus.report_grain_cache.computed_at IS 'When the slice was populated; one value per slice.';

ALTER TABLE corpus.report_grain_cache ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.report_grain_cache_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

ALTER TABLE corpus.run ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.run_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.services (
    id integer NOT NULL,
    name text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT services_name_is_1_to_200_characters CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

COMMENT ON TABLE corpus.services IS 'What is done to documents, such as a conversion.';

ALTER TABLE corpus.services ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.services_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE corpus.slice (
    corpus_id integer NOT NULL,
    service_id integer NOT NULL,
    severity text NOT NULL,
    seen pg_snapshot,
    seen_by xid8,
    seen_upto bigint,
    cluster bigint,
    stale boolean DEFAULT false NOT NULL
);

COMMENT ON TABLE corpus.slice IS 'What the cached rows of a slice have seen of the changes. Private.';

COMMENT ON COLUMN corpus.slice.seen IS 'Changes of the transactions that are visible in it are counted; null: nobody knows which are.';

COMMENT ON COLUMN corpus.slice.seen_by IS 'The transaction that counted: of its own changes those up to seen_upto are counted.';

COMMENT ON COLUMN corpus.slice.cluster IS 'Whose transactions these are: in another cluster, after a restore, their numbers mean nothing.';

COMMENT ON COLUMN corpus.slice.stale IS 'Whether it is known to be older than the data, whatever the changes say.';

CREATE TABLE corpus.tasks (
    id bigint NOT NULL,
    corpus_id integer NOT NULL,
    service_id integer NOT NULL,
    status integer DEFAULT 0 NOT NULL,
    entry text NOT NULL,
    created_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    updated_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    CONSTRAINT tasks_entry_is_1_to_2000_bytes CHECK (((octet_length(entry) >= 1) AND (octet_length(entry) <= 2000))),
    CONSTRAINT tasks_status_is_known CHECK (((status >= '-5'::integer) AND (status <= 0)))
);

COMMENT ON TABLE corpus.tasks IS 'One document of one corpus under one service, and how it went.';

COMMENT ON COLUMN corpus.tasks.status IS '0 to do, -1 no problem, -2 warning, -3 error, -4 fatal, -5 invalid: its worst message.';

COMMENT ON COLUMN corpus.tasks.entry IS 'Name of the document: its path inside the corpus.';

COMMENT ON CONSTRAINT tasks_entry_is_1_to_2000_bytes ON corpus.tasks IS 'Bytes, not characters: what still fits into an index row.';

ALTER TABLE corpus.tasks ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME corpus.tasks_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE cortex._yoyo_log (
    id character varying(36) NOT NULL,
    migration_hash character varying(64),
    migration_id character varying(255),
    operation character varying(10),
    username character varying(255),
    hostname character varying(255),
    comment character varying(255),
    created_at_utc timestamp with time zone
);

COMMENT ON TABLE cortex._yoyo_log IS 'When and by whom migrations were applied (yoyo-migrations).';

CREATE TABLE cortex._yoyo_migration (
    migration_hash character varying(64) NOT NULL,
    migration_id character varying(255),
    applied_at_utc timestamp with time zone
);

COMMENT ON TABLE cortex._yoyo_migration IS 'Migrations that were applied (yoyo-migrations).';

CREATE TABLE cortex._yoyo_version (
    version integer NOT NULL,
    installed_at_utc timestamp with time zone
);

COMMENT ON TABLE cortex._yoyo_version IS 'Layout of these tables (yoyo-migrations).';

CREATE VIEW cortex.configuration AS
 SELECT stale_after,
    run_timeout,
    queue_timeout,
    max_attempts,
    backoff,
    backoff_limit,
    on_interrupt,
    max_running,
    keep,
    cancel_grace,
    runner_beat,
    runner_grace
   FROM cortex.settings s;

COMMENT ON VIEW cortex.configuration IS 'The settings in force, one row; cortex.configure changes them.';

CREATE TABLE cortex.event (
    id bigint NOT NULL,
    job_id bigint NOT NULL,
    at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    from_status cortex.job_status,
    to_status cortex.job_status NOT NULL,
    attempt integer NOT NULL,
    runner uuid,
    actor text DEFAULT ''::text NOT NULL,
    role text DEFAULT SESSION_USER NOT NULL,
    message text DEFAULT ''::text NOT NULL
);

COMMENT ON TABLE cortex.event IS 'One row per change of state of a job. Private: callers use the view cortex.job_events.';

COMMENT ON COLUMN cortex.event.from_status IS 'Null: the job was spawned.';

COMMENT ON COLUMN cortex.event.actor IS 'Who asked, as the caller named them.';

COMMENT ON COLUMN cortex.event.role IS 'The role that was logged in.';

ALTER TABLE cortex.event ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME cortex.event_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE VIEW cortex.job_activity AS
 SELECT j.uuid AS job,
    j.kind,
    j.backend_pid AS pid,
    a.state,
    a.wait_event_type,
    a.wait_event,
    (
        CASE
            WHEN (a.query_start IS NOT NULL) THEN GREATEST(EXTRACT(epoch FROM (cortex.clock() - a.query_start)), (0)::numeric)
            ELSE NULL::numeric
        END)::double precision AS query_seconds,
    p.command,
    p.phase,
    p.done,
    p.total
   FROM ((cortex.job j
     JOIN pg_stat_activity a ON (((a.pid = j.backend_pid) AND ((a.backend_start = j.backend_start) OR (a.backend_start IS NULL)))))
     LEFT JOIN ( SELECT i.pid,
            i.command,
            i.phase,
                CASE
                    WHEN (i.blocks_total > 0) THEN i.blocks_done
                    ELSE i.tuples_done
                END AS done,
                CASE
                    WHEN (i.blocks_total > 0) THEN i.blocks_total
                    ELSE NULLIF(i.tuples_total, 0)
                END AS total
           FROM pg_stat_progress_create_index i
        UNION ALL
         SELECT z.pid,
            'ANALYZE'::text,
            z.phase,
            z.sample_blks_scanned,
            NULLIF(z.sample_blks_total, 0) AS "nullif"
           FROM pg_stat_progress_analyze z
        UNION ALL
         SELECT v.pid,
            'VACUUM'::text,
            v.phase,
            v.heap_blks_scanned,
            NULLIF(v.heap_blks_total, 0) AS "nullif"
           FROM pg_stat_progress_vacuum v
        UNION ALL
         SELECT c.pid,
            c.command,
            c.phase,
            c.heap_blks_scanned,
            NULLIF(c.heap_blks_total, 0) AS "nullif"
           FROM pg_stat_progress_cluster c
        UNION ALL
         SELECT y.pid,
            y.command,
            y.type,
                CASE
                    WHEN (y.bytes_total > 0) THEN y.bytes_processed
                    ELSE y.tuples_processed
                END AS tuples_processed,
            NULLIF(y.bytes_total, 0) AS "nullif"
           FROM pg_stat_progress_copy y) p ON ((p.pid = j.backend_pid)))
  WHERE (j.status = 'running'::cortex.job_status);

COMMENT ON VIEW cortex.job_activity IS 'For each running job with an attached session: what that session does, and how far it is.';

COMMENT ON COLUMN cortex.job_activity.done IS 'Blocks, tuples or bytes, as the command counts them; null where it doesn''t.';

CREATE VIEW cortex.job_events AS
 SELECT j.uuid AS job,
    e.at,
    e.from_status,
    e.to_status,
    e.attempt,
    e.runner,
    e.actor,
    e.role,
    e.message,
    e.id,
    j.kind
   FROM (cortex.event e
     JOIN cortex.job j ON ((j.id = e.job_id)));

COMMENT ON VIEW cortex.job_events IS 'One row per change of state: who started it, what happened, when.';

COMMENT ON COLUMN cortex.job_events.id IS 'Grows; events of one job in their order. What is committed later may have the lower number.';

ALTER TABLE cortex.job ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME cortex.job_id_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
);

CREATE TABLE cortex.kind (
    name text NOT NULL,
    stale_after interval,
    run_timeout interval,
    queue_timeout interval,
    max_attempts integer,
    backoff interval,
    on_interrupt cortex.interrupt_policy,
    max_running integer,
    keep interval,
    CONSTRAINT kind_backoff_is_not_negative CHECK ((backoff >= '00:00:00'::interval)),
    CONSTRAINT kind_keep_is_not_negative CHECK ((keep >= '00:00:00'::interval)),
    CONSTRAINT kind_max_attempts_is_positive CHECK ((max_attempts > 0)),
    CONSTRAINT kind_max_running_is_positive CHECK ((max_running > 0)),
    CONSTRAINT kind_name_is_1_to_200_characters CHECK (((length(name) >= 1) AND (length(name) <= 200))),
    CONSTRAINT kind_queue_timeout_is_positive CHECK ((queue_timeout > '00:00:00'::interval)),
    CONSTRAINT kind_run_timeout_is_positive CHECK ((run_timeout > '00:00:00'::interval)),
    CONSTRAINT kind_stale_after_is_positive CHECK ((stale_after > '00:00:00'::interval))
);

COMMENT ON TABLE cortex.kind IS 'What one kind of job says otherwise than the settings; null means as the settings say. A kind needs no row.';

CREATE VIEW cortex.kinds AS
 SELECT k.name AS kind,
    r.stale_after,
    r.run_timeout,
    r.queue_timeout,
    r.max_attempts,
    r.backoff,
    r.on_interrupt,
    r.max_running,
    r.keep
   FROM (cortex.kind k
     CROSS JOIN LATERAL cortex.rules(kind => k.name) r(only_row, stale_after, run_timeout, queue_timeout, max_attempts, backoff, backoff_limit, on_interrupt, max_running, keep, cancel_grace, runner_beat, runner_grace));

COMMENT ON VIEW cortex.kinds IS 'The rules in force for every configured kind; cortex.configure_kind changes them.';

CREATE TABLE cortex.runner (
    uuid uuid DEFAULT gen_random_uuid() NOT NULL,
    lease integer NOT NULL,
    name text NOT NULL,
    host text NOT NULL,
    pid integer NOT NULL,
    backend_pid integer,
    registered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    seen_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    retired_at timestamp with time zone,
    kinds text[],
    CONSTRAINT runner_host_is_at_most_255_characters CHECK ((length(host) <= 255)),
    CONSTRAINT runner_name_is_1_to_200_characters CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

COMMENT ON TABLE cortex.runner IS 'Processes that run job bodies. A row outlives its process, so that the jobs of a dead one are found.';

COMMENT ON COLUMN cortex.runner.lease IS 'Second key of the session-level advisory lock that the process holds; the first is cortex.lock_space().';

COMMENT ON COLUMN cortex.runner.backend_pid IS 'The session that holds the lease; null where a pooler made it meaningless and only seen_at counts.';

COMMENT ON COLUMN cortex.runner.seen_at IS 'The last beat.';

COMMENT ON COLUMN cortex.runner.retired_at IS 'When the process said goodbye itself; null while it lives or after it died.';

COMMENT ON COLUMN cortex.runner.kinds IS 'The kinds that it last asked for with claim_jobs, sorted; null for a runner of its own jobs only.';

ALTER TABLE cortex.runner ALTER COLUMN lease ADD GENERATED ALWAYS AS IDENTITY (
    SEQUENCE NAME cortex.runner_lease_seq
    START WITH 1
    INCREMENT BY 1
    NO MINVALUE
    NO MAXVALUE
    CACHE 1
    CYCLE
);

CREATE VIEW cortex.runners AS
 SELECT uuid,
    name,
    host,
    pid,
    registered_at,
    seen_at,
    retired_at,
    ((retired_at IS NULL) AND (((cortex.clock() -
        CASE
            WHEN ((backend_pid IS NOT NULL) AND (registered_at < pg_postmaster_start_time())) THEN GREATEST(seen_at, pg_postmaster_start_time())
            ELSE seen_at
        END) <= ( SELECT s.runner_grace
           FROM cortex.settings s)) OR (EXISTS ( SELECT
           FROM pg_locks l
          WHERE ((l.locktype = 'advisory'::text) AND (l.database = ( SELECT d.oid
                   FROM pg_database d
                  WHERE (d.datname = current_database()))) AND (l.classid = (cortex.lock_space())::oid) AND (l.objid = (r.lease)::oid) AND (l.objsubid = 2) AND l.granted AND (l.pid = r.backend_pid)))))) AS alive,
    kinds
   FROM cortex.runner r;

COMMENT ON VIEW cortex.runners IS 'Processes that run or ran job bodies.';

COMMENT ON COLUMN cortex.runners.alive IS 'False once it retired, or its lease is free and its last beat, and the server''s start, older than the grace.';

CREATE TABLE cortex.schedule (
    name text NOT NULL,
    line text NOT NULL,
    kind text NOT NULL,
    actor text NOT NULL,
    params cortex."json_object" NOT NULL,
    debounce_scope cortex."json_object" NOT NULL,
    debounce_on cortex.debounce_mode NOT NULL,
    priority integer NOT NULL,
    scheduled_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    scheduled_by text DEFAULT SESSION_USER NOT NULL,
    last_job uuid,
    last_spawned_at timestamp with time zone,
    CONSTRAINT schedule_kind_is_1_to_200_characters CHECK (((length(kind) >= 1) AND (length(kind) <= 200))),
    CONSTRAINT schedule_name_is_1_to_200_characters CHECK (((length(name) >= 1) AND (length(name) <= 200)))
);

COMMENT ON TABLE cortex.schedule IS 'Jobs that come back: what to spawn, and when. Private: callers use cortex.list_schedules().';

COMMENT ON COLUMN cortex.schedule.line IS 'When, as pg_cron reads it.';

COMMENT ON COLUMN cortex.schedule.last_job IS 'What the last run spawned, or found in its place; it may have been purged since.';

CREATE TABLE cortex.sql_kind (
    kind text NOT NULL,
    schema_name text NOT NULL,
    routine_name text NOT NULL,
    run_as text,
    commits boolean,
    registered_at timestamp with time zone DEFAULT clock_timestamp() NOT NULL,
    registered_by text DEFAULT SESSION_USER NOT NULL,
    CONSTRAINT sql_kind_name_is_1_to_200_characters CHECK (((length(kind) >= 1) AND (length(kind) <= 200)))
);

COMMENT ON TABLE cortex.sql_kind IS 'Kinds that cortex.work runs inside the database. Private: callers use the view cortex.sql_kinds.';

COMMENT ON COLUMN cortex.sql_kind.routine_name IS 'By name, looked up at each run, so that it survives a restore and a replacement of the routine.';

COMMENT ON COLUMN cortex.sql_kind.run_as IS 'The role that may run it, with its own rights; null for bodies that come with this schema, which any may.';

COMMENT ON COLUMN cortex.sql_kind.commits IS 'Whether the procedure ends transactions itself; null: as its text looks.';

CREATE VIEW cortex.sql_kinds AS
 SELECT kind,
    format('%I.%I(uuid)'::text, schema_name, routine_name) AS procedure,
    run_as,
    commits,
    registered_at,
    registered_by
   FROM cortex.sql_kind k;

COMMENT ON VIEW cortex.sql_kinds IS 'Kinds whose jobs cortex.work runs inside the database.';

COMMENT ON COLUMN cortex.sql_kinds.procedure IS 'What is called with the uuid of the job; looked up at each run.';

CREATE TABLE cortex.turnstile (
    kind text NOT NULL,
    passed bigint DEFAULT 0 NOT NULL
);

COMMENT ON TABLE cortex.turnstile IS 'One row for each kind that had a max_running when a job of it was to start. Private.';

COMMENT ON COLUMN cortex.turnstile.passed IS 'How often jobs were started through it; moves so that snapshots from before are noticed.';

CREATE TABLE cortex.upkeep (
    only_row boolean DEFAULT true NOT NULL,
    last_run_at timestamp with time zone,
    last_role text,
    stale integer DEFAULT 0 NOT NULL,
    overdue integer DEFAULT 0 NOT NULL,
    orphaned integer DEFAULT 0 NOT NULL,
    purged integer DEFAULT 0 NOT NULL,
    jobs_seen_at timestamp with time zone,
    jobs_seen_id bigint,
    runners_seen_to uuid,
    CONSTRAINT upkeep_is_one_row CHECK (only_row)
);

COMMENT ON TABLE cortex.upkeep IS 'The last run of cortex.maintain(); one row.';

COMMENT ON COLUMN cortex.upkeep.jobs_seen_at IS 'Where the last look through the finished jobs stopped; the next goes on from there. Null: begin anew.';

COMMENT ON COLUMN cortex.upkeep.jobs_seen_id IS 'The job at which it stopped, among those that ended at that moment.';

COMMENT ON COLUMN cortex.upkeep.runners_seen_to IS 'Where the last look through the runners stopped; the next goes on from there. Null: begin anew.';

CREATE VIEW cortex.upkeep_record AS
 SELECT last_run_at,
    last_role,
    stale,
    overdue,
    orphaned,
    purged
   FROM cortex.upkeep u;

COMMENT ON VIEW cortex.upkeep_record IS 'The last run of cortex.maintain() and what it did; one row.';

CREATE VIEW cortex.waiting AS
 SELECT kind,
    ready,
    oldest_run_at,
    ( SELECT count(*) AS count
           FROM cortex.runners r
          WHERE ((r.retired_at IS NULL) AND (ready_kind.kind = ANY (r.kinds)) AND r.alive)) AS workers
   FROM ( SELECT j.kind,
            count(*) AS ready,
            min(j.run_at) AS oldest_run_at
           FROM cortex.job j
          WHERE ((j.status = 'queued'::cortex.job_status) AND (j.runner IS NULL) AND (j.run_at <= cortex.clock()))
          GROUP BY j.kind) ready_kind;

COMMENT ON VIEW cortex.waiting IS 'Queued jobs that anybody may take and whose time has come, one row per kind.';

COMMENT ON COLUMN cortex.waiting.ready IS 'How many there are, follow-ups that wait for the job before them included.';

COMMENT ON COLUMN cortex.waiting.oldest_run_at IS 'Since when the oldest could have been started.';

COMMENT ON COLUMN cortex.waiting.workers IS 'How many live runners last asked for this kind; 0: nobody takes it.';

CREATE TABLE cortex.yoyo_lock (
    locked integer DEFAULT 1 NOT NULL,
    ctime timestamp with time zone,
    pid integer NOT NULL
);

COMMENT ON TABLE cortex.yoyo_lock IS 'Lock row of yoyo-migrations. Stays empty: an installation holds a transaction-level advisory lock.';

ALTER TABLE ONLY corpus.cleared
    ADD CONSTRAINT cleared_pkey PRIMARY KEY (severity);

ALTER TABLE ONLY corpus.corpora
    ADD CONSTRAINT corpora_name_key UNIQUE (name);

ALTER TABLE ONLY corpus.corpora
    ADD CONSTRAINT corpora_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.grain_name
    ADD CONSTRAINT grain_name_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.historical_tasks
    ADD CONSTRAINT historical_tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.kept_task
    ADD CONSTRAINT kept_task_pkey PRIMARY KEY (run, task_id);

ALTER TABLE ONLY corpus.log_errors
    ADD CONSTRAINT log_errors_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.log_fatals
    ADD CONSTRAINT log_fatals_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.log_infos
    ADD CONSTRAINT log_infos_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.log_invalids
    ADD CONSTRAINT log_invalids_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.log_warnings
    ADD CONSTRAINT log_warnings_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.report_grain_cache
    ADD CONSTRAINT report_grain_cache_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.run
    ADD CONSTRAINT run_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.services
    ADD CONSTRAINT services_name_key UNIQUE (name);

ALTER TABLE ONLY corpus.services
    ADD CONSTRAINT services_pkey PRIMARY KEY (id);

ALTER TABLE ONLY corpus.slice
    ADD CONSTRAINT slice_pkey PRIMARY KEY (corpus_id, service_id, severity);

ALTER TABLE ONLY corpus.tasks
    ADD CONSTRAINT tasks_entry_key UNIQUE (corpus_id, service_id, entry);

COMMENT ON CONSTRAINT tasks_entry_key ON corpus.tasks IS 'A document is one task per service. Serves the import, which looks documents up by name.';

ALTER TABLE ONLY corpus.tasks
    ADD CONSTRAINT tasks_pkey PRIMARY KEY (id);

ALTER TABLE ONLY cortex._yoyo_log
    ADD CONSTRAINT _yoyo_log_pkey PRIMARY KEY (id);

ALTER TABLE ONLY cortex._yoyo_migration
    ADD CONSTRAINT _yoyo_migration_pkey PRIMARY KEY (migration_hash);

ALTER TABLE ONLY cortex._yoyo_version
    ADD CONSTRAINT _yoyo_version_pkey PRIMARY KEY (version);

ALTER TABLE ONLY cortex.event
    ADD CONSTRAINT event_pkey PRIMARY KEY (id);

ALTER TABLE ONLY cortex.job
    ADD CONSTRAINT job_pkey PRIMARY KEY (id);

ALTER TABLE ONLY cortex.job
    ADD CONSTRAINT job_uuid_key UNIQUE (uuid);

ALTER TABLE ONLY cortex.kind
    ADD CONSTRAINT kind_pkey PRIMARY KEY (name);

ALTER TABLE ONLY cortex.runner
    ADD CONSTRAINT runner_pkey PRIMARY KEY (uuid);

ALTER TABLE ONLY cortex.schedule
    ADD CONSTRAINT schedule_pkey PRIMARY KEY (name);

ALTER TABLE ONLY cortex.settings
    ADD CONSTRAINT settings_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY cortex.sql_kind
    ADD CONSTRAINT sql_kind_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY cortex.turnstile
    ADD CONSTRAINT turnstile_pkey PRIMARY KEY (kind);

ALTER TABLE ONLY cortex.upkeep
    ADD CONSTRAINT upkeep_pkey PRIMARY KEY (only_row);

ALTER TABLE ONLY cortex.yoyo_lock
    ADD CONSTRAINT yoyo_lock_pkey PRIMARY KEY (locked);

CREATE INDEX change_severity_idx ON corpus.change USING btree (severity, txid);

COMMENT ON INDEX corpus.change_severity_idx IS 'corpus.slice_is_stale, corpus.apply_changes: the changes after a snapshot; corpus.note_all.';

CREATE UNIQUE INDEX grain_name_key ON corpus.grain_name USING btree (((category IS NULL)), COALESCE(category, ''::text), ((what IS NULL)), COALESCE(what, ''::text));

COMMENT ON INDEX corpus.grain_name_key IS 'corpus.keep_range, corpus.apply_changes: the number of a pair of names.';

CREATE INDEX historical_tasks_task_idx ON corpus.historical_tasks USING btree (task_id, saved_at);

COMMENT ON INDEX corpus.historical_tasks_task_idx IS 'The history of one task; and the cascade when a task is deleted.';

CREATE UNIQUE INDEX kept_count_key ON corpus.kept_count USING btree (run, grain, ((category IS NULL)), COALESCE(category, ''::text), ((what IS NULL)), COALESCE(what, ''::text));

COMMENT ON INDEX corpus.kept_count_key IS 'corpus.apply_changes, corpus.show_counts: the sum of one name.';

CREATE INDEX log_errors_task_idx ON corpus.log_errors USING btree (task_id);

COMMENT ON INDEX corpus.log_errors_task_idx IS 'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

CREATE INDEX log_fatals_task_idx ON corpus.log_fatals USING btree (task_id);

COMMENT ON INDEX corpus.log_fatals_task_idx IS 'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

CREATE INDEX log_infos_task_idx ON corpus.log_infos USING btree (task_id);

COMMENT ON INDEX corpus.log_infos_task_idx IS 'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

CREATE INDEX log_invalids_task_idx ON corpus.log_invalids USING btree (task_id);

COMMENT ON INDEX corpus.log_invalids_task_idx IS 'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

CREATE INDEX log_warnings_task_idx ON corpus.log_warnings USING btree (task_id);

COMMENT ON INDEX corpus.log_warnings_task_idx IS 'corpus.populate_scope, and the import that replaces a document: the messages of a task.';

CREATE INDEX part_run_idx ON corpus.part USING btree (run);

COMMENT ON INDEX corpus.part_run_idx IS 'corpus.finish_run, corpus.clear_runs: the parts of a run.';

CREATE UNIQUE INDEX report_grain_cache_key ON corpus.report_grain_cache USING btree (corpus_id, service_id, severity, grain, ((category IS NULL)), COALESCE(category, ''::text), ((what IS NULL)), COALESCE(what, ''::text));

COMMENT ON INDEX corpus.report_grain_cache_key IS 'corpus.report_slice, corpus.populate_scope, corpus.invalidate_scope: the rows of a slice, each counted once.';

CREATE INDEX tasks_status_idx ON corpus.tasks USING btree (corpus_id, service_id, status) INCLUDE (id);

COMMENT ON INDEX corpus.tasks_status_idx IS 'corpus.populate_scope: the tasks of a scope that a severity takes.';

CREATE INDEX event_job_idx ON cortex.event USING btree (job_id, id);

COMMENT ON INDEX cortex.event_job_idx IS 'job_events: the history of one job; and the cascade of purge_jobs.';

CREATE INDEX event_lost_idx ON cortex.event USING btree (runner, at) WHERE (to_status = ANY (ARRAY['failed'::cortex.job_status, 'interrupted'::cortex.job_status]));

COMMENT ON INDEX cortex.event_lost_idx IS 'keep_runner: which attempts of a runner were ended without its doing; purge_runners: whether it lost any.';

CREATE INDEX job_active_idx ON cortex.job USING btree (created_at DESC, id DESC) WHERE (status = ANY (ARRAY['queued'::cortex.job_status, 'running'::cortex.job_status]));

COMMENT ON INDEX cortex.job_active_idx IS 'list_recent(active_only), reap_stale, reap_overdue: the few jobs that are not over.';

CREATE INDEX job_attached_idx ON cortex.job USING btree (id) WHERE (backend_pid IS NOT NULL);

COMMENT ON INDEX cortex.job_attached_idx IS 'end_backends: the few jobs with a session attached.';

CREATE INDEX job_created_idx ON cortex.job USING btree (created_at DESC, id DESC);

COMMENT ON INDEX cortex.job_created_idx IS 'list_recent, list_jobs: newest first.';

CREATE UNIQUE INDEX job_debounce_queued_key ON cortex.job USING btree (kind, debounce_scope) WHERE ((debounce_scope IS NOT NULL) AND (status = 'queued'::cortex.job_status));

COMMENT ON INDEX cortex.job_debounce_queued_key IS 'spawn_job: at most one job of a kind and scope waits.';

CREATE UNIQUE INDEX job_debounce_running_key ON cortex.job USING btree (kind, debounce_scope) WHERE ((debounce_scope IS NOT NULL) AND ((status = 'running'::cortex.job_status) OR ((status = 'queued'::cortex.job_status) AND (debounce_on = 'active'::cortex.debounce_mode))));

COMMENT ON INDEX cortex.job_debounce_running_key IS 'spawn_job, claim_jobs, retry_jobs: at most one job of a kind and scope runs, and none of mode active waits beside it.';

CREATE INDEX job_finished_idx ON cortex.job USING btree (finished_at, id) WHERE (finished_at IS NOT NULL);

COMMENT ON INDEX cortex.job_finished_idx IS 'status_counts, metrics, purge_jobs, purge_expired: what ended in a window, oldest first.';

CREATE INDEX job_kind_idx ON cortex.job USING btree (kind, status, created_at);

COMMENT ON INDEX cortex.job_kind_idx IS 'list_jobs: the newest jobs of a kind in a status.';

CREATE INDEX job_ready_idx ON cortex.job USING btree (kind, priority DESC, run_at, id) WHERE ((status = 'queued'::cortex.job_status) AND (runner IS NULL));

COMMENT ON INDEX cortex.job_ready_idx IS 'claim_jobs, metrics: what anybody may take, kind by kind, in the order it is taken.';

CREATE INDEX job_runner_idx ON cortex.job USING btree (runner, status) WHERE (runner IS NOT NULL);

COMMENT ON INDEX cortex.job_runner_idx IS 'keep_runner, retire_runner, interrupt_orphans: the active jobs of one runner; purge_runners: whether it has any.';

CREATE INDEX job_status_created_idx ON cortex.job USING btree (status, created_at);

COMMENT ON INDEX cortex.job_status_created_idx IS 'count_recent_with_status, status_counts, metrics, free_slots, list_jobs: a window of one status, and what is active.';

CREATE TRIGGER log_errors_note_delete AFTER DELETE ON corpus.log_errors REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('error');

CREATE TRIGGER log_errors_note_insert AFTER INSERT ON corpus.log_errors REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('error');

CREATE TRIGGER log_errors_note_truncate AFTER TRUNCATE ON corpus.log_errors FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('error');

CREATE TRIGGER log_errors_note_update AFTER UPDATE ON corpus.log_errors REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('error');

CREATE TRIGGER log_fatals_note_delete AFTER DELETE ON corpus.log_fatals REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('fatal');

CREATE TRIGGER log_fatals_note_insert AFTER INSERT ON corpus.log_fatals REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('fatal');

CREATE TRIGGER log_fatals_note_truncate AFTER TRUNCATE ON corpus.log_fatals FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('fatal');

CREATE TRIGGER log_fatals_note_update AFTER UPDATE ON corpus.log_fatals REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('fatal');

CREATE TRIGGER log_infos_note_delete AFTER DELETE ON corpus.log_infos REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('info');

CREATE TRIGGER log_infos_note_insert AFTER INSERT ON corpus.log_infos REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('info');

CREATE TRIGGER log_infos_note_truncate AFTER TRUNCATE ON corpus.log_infos FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('info');

CREATE TRIGGER log_infos_note_update AFTER UPDATE ON corpus.log_infos REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('info');

CREATE TRIGGER log_invalids_note_delete AFTER DELETE ON corpus.log_invalids REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('invalid');

CREATE TRIGGER log_invalids_note_insert AFTER INSERT ON corpus.log_invalids REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('invalid');

CREATE TRIGGER log_invalids_note_truncate AFTER TRUNCATE ON corpus.log_invalids FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('invalid');

CREATE TRIGGER log_invalids_note_update AFTER UPDATE ON corpus.log_invalids REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('invalid');

CREATE TRIGGER log_warnings_note_delete AFTER DELETE ON corpus.log_warnings REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('warning');

CREATE TRIGGER log_warnings_note_insert AFTER INSERT ON corpus.log_warnings REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('warning');

CREATE TRIGGER log_warnings_note_truncate AFTER TRUNCATE ON corpus.log_warnings FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('warning');

CREATE TRIGGER log_warnings_note_update AFTER UPDATE ON corpus.log_warnings REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_messages('warning');

CREATE TRIGGER tasks_note_delete AFTER DELETE ON corpus.tasks REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_tasks();

CREATE TRIGGER tasks_note_truncate AFTER TRUNCATE ON corpus.tasks FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_tasks();

CREATE TRIGGER tasks_note_update AFTER UPDATE ON corpus.tasks REFERENCING OLD TABLE AS old_rows NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION corpus.note_tasks();

CREATE TRIGGER job_records_its_changes AFTER UPDATE OF status ON cortex.job FOR EACH ROW EXECUTE FUNCTION cortex.record_event();

COMMENT ON TRIGGER job_records_its_changes ON cortex.job IS 'No routine can change a state without a trace. Heartbeats do not set status, so they do not pay for it.';

CREATE TRIGGER job_records_its_spawn AFTER INSERT ON cortex.job REFERENCING NEW TABLE AS new_rows FOR EACH STATEMENT EXECUTE FUNCTION cortex.record_spawns();

COMMENT ON TRIGGER job_records_its_spawn ON cortex.job IS 'No routine can make a job without a trace.';

CREATE TRIGGER job_takes_its_events AFTER DELETE ON cortex.job REFERENCING OLD TABLE AS old_rows FOR EACH STATEMENT EXECUTE FUNCTION cortex.drop_events();

COMMENT ON TRIGGER job_takes_its_events ON cortex.job IS 'No event is left behind by its job.';

CREATE TRIGGER jobs_take_their_events AFTER TRUNCATE ON cortex.job FOR EACH STATEMENT EXECUTE FUNCTION cortex.drop_events();

COMMENT ON TRIGGER jobs_take_their_events ON cortex.job IS 'No event is left behind when all jobs are removed at once.';

ALTER TABLE ONLY corpus.historical_tasks
    ADD CONSTRAINT historical_tasks_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.log_errors
    ADD CONSTRAINT log_errors_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.log_fatals
    ADD CONSTRAINT log_fatals_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.log_infos
    ADD CONSTRAINT log_infos_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.log_invalids
    ADD CONSTRAINT log_invalids_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.log_warnings
    ADD CONSTRAINT log_warnings_task_fkey FOREIGN KEY (task_id) REFERENCES corpus.tasks(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.report_grain_cache
    ADD CONSTRAINT report_grain_cache_corpus_fkey FOREIGN KEY (corpus_id) REFERENCES corpus.corpora(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.report_grain_cache
    ADD CONSTRAINT report_grain_cache_service_fkey FOREIGN KEY (service_id) REFERENCES corpus.services(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.slice
    ADD CONSTRAINT slice_corpus_fkey FOREIGN KEY (corpus_id) REFERENCES corpus.corpora(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.slice
    ADD CONSTRAINT slice_service_fkey FOREIGN KEY (service_id) REFERENCES corpus.services(id) ON DELETE CASCADE;

ALTER TABLE ONLY corpus.tasks
    ADD CONSTRAINT tasks_corpus_fkey FOREIGN KEY (corpus_id) REFERENCES corpus.corpora(id);

ALTER TABLE ONLY corpus.tasks
    ADD CONSTRAINT tasks_service_fkey FOREIGN KEY (service_id) REFERENCES corpus.services(id);

ALTER TABLE ONLY cortex.job
    ADD CONSTRAINT job_runner_fkey FOREIGN KEY (runner) REFERENCES cortex.runner(uuid);

GRANT USAGE ON SCHEMA corpus TO cortex_reader;
GRANT USAGE ON SCHEMA corpus TO cortex_producer;
GRANT USAGE ON SCHEMA corpus TO cortex_runner;
GRANT USAGE ON SCHEMA corpus TO cortex_admin;

GRANT USAGE ON SCHEMA cortex TO cortex_reader;
GRANT USAGE ON SCHEMA cortex TO cortex_producer;
GRANT USAGE ON SCHEMA cortex TO cortex_runner;
GRANT USAGE ON SCHEMA cortex TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.apply_changes(run integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.begin_run(corpus_id integer, service_id integer, severity text, keeps boolean, OUT run integer, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.begin_run(corpus_id integer, service_id integer, severity text, keeps boolean, OUT run integer, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.begin_run(corpus_id integer, service_id integer, severity text, keeps boolean, OUT run integer, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.check_documents(entries text[], statuses integer[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.check_name(name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.clear_runs(batch_size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.clear_runs(batch_size integer) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.clear_runs(batch_size integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval, actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval, actor text) TO cortex_producer;
GRANT ALL ON FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval, actor text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.count_now(corpus_id integer, service_id integer, severity text, budget interval, actor text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.count_range(run integer, first_task bigint, last_task bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.count_range(run integer, first_task bigint, last_task bigint) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.count_range(run integer, first_task bigint, last_task bigint) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.count_tasks(corpus_id integer, service_id integer, severity text, first_task bigint, last_task bigint, dense boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.drop_run(run integer) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.drop_run(run integer) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.drop_run(run integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.drop_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.finish_run(run integer) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.finish_run(run integer) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.finish_run(run integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.forget_grains(corpus_id integer, service_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.forget_grains(corpus_id integer, service_id integer) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.forget_grains(corpus_id integer, service_id integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.invalidate_all() FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.invalidate_all() TO cortex_runner;
GRANT ALL ON FUNCTION corpus.invalidate_all() TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.invalidate_scope(corpus_id integer, service_id integer) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.invalidate_scope(corpus_id integer, service_id integer) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.invalidate_scope(corpus_id integer, service_id integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.is_watched(severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.keep_range(run integer, first_task bigint, last_task bigint) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.keep_range(run integer, first_task bigint, last_task bigint) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.keep_range(run integer, first_task bigint, last_task bigint) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.lock_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.next_width(width bigint, took interval) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.next_width(width bigint, took interval) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.next_width(width bigint, took interval) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.note_all(severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.note_messages() FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.note_tasks() FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.open_corpus(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.open_corpus(name text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.open_corpus(name text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.open_service(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.open_service(name text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.open_service(name text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.populate_scope(corpus_id integer, service_id integer, severity text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.populate_scope(corpus_id integer, service_id integer, severity text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.populate_scope(corpus_id integer, service_id integer, severity text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.put_seen(corpus_id integer, service_id integer, severity text, seen pg_snapshot, seen_by xid8, seen_upto bigint, cluster bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.put_tasks(corpus_id integer, service_id integer, entries text[], statuses integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.put_tasks(corpus_id integer, service_id integer, entries text[], statuses integer[]) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.put_tasks(corpus_id integer, service_id integer, entries text[], statuses integer[]) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.refresh_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.refresh_slice(corpus_id integer, service_id integer, severity text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.refresh_slice(corpus_id integer, service_id integer, severity text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) TO cortex_reader;
GRANT ALL ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) TO cortex_producer;
GRANT ALL ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.report_slice(corpus_id integer, service_id integer, severity text) TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.run TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.run TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.require_run(run integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.require_scope(corpus_id integer, service_id integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.require_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.seen_now(severity text, OUT seen pg_snapshot, OUT seen_by xid8, OUT seen_upto bigint, OUT cluster bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.severities() FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.severity_log(severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.show_counts(run integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) FROM PUBLIC;
GRANT ALL ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) TO cortex_reader;
GRANT ALL ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) TO cortex_producer;
GRANT ALL ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) TO cortex_runner;
GRANT ALL ON FUNCTION corpus.slice_is_stale(corpus_id integer, service_id integer, severity text) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.slice_tasks(corpus_id integer, service_id integer, severity text, OUT tasks bigint, OUT first_task bigint, OUT last_task bigint, OUT dense boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.abandoned_jobs(candidates bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.analyze_table(name text, lock_timeout text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.analyze_table(name text, lock_timeout text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.analyze_table(name text, lock_timeout text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.attach_backend(job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.attach_backend(job uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.attach_backend(job uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.attach_session(job uuid, backend_start timestamp with time zone) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.attach_session(job uuid, backend_start timestamp with time zone) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.attach_session(job uuid, backend_start timestamp with time zone) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.begin_body(job uuid, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.begin_body(job uuid, attempt integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.begin_body(job uuid, attempt integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.cancel_job(job uuid, actor text, hard boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.cancel_job(job uuid, actor text, hard boolean) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.cancel_job(job uuid, actor text, hard boolean) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.cancel_job(job uuid, actor text, hard boolean) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.check_rules(rules cortex.settings, kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.check_spawn(kind text, actor text, params jsonb, debounce_scope jsonb, run_at timestamp with time zone) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.clock() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.clock() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.clock() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.clock() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.clock() TO cortex_admin;

GRANT SELECT ON TABLE cortex.jobs TO cortex_reader;
GRANT SELECT ON TABLE cortex.jobs TO cortex_producer;
GRANT SELECT ON TABLE cortex.jobs TO cortex_runner;
GRANT SELECT ON TABLE cortex.jobs TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.claim_jobs(runner uuid, kinds text[], max_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.claim_jobs(runner uuid, kinds text[], max_jobs integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.claim_jobs(runner uuid, kinds text[], max_jobs integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.clip(whole text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.configure(stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, backoff_limit interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, cancel_grace interval, runner_beat interval, runner_grace interval, reset text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.configure(stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, backoff_limit interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, cancel_grace interval, runner_beat interval, runner_grace interval, reset text[]) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.configure_kind(kind text, stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, reset text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.configure_kind(kind text, stale_after interval, run_timeout interval, queue_timeout interval, max_attempts integer, backoff interval, on_interrupt cortex.interrupt_policy, max_running integer, keep interval, reset text[]) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.count_recent_with_status(status cortex.job_status, hours numeric) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.cron_entry() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.cron_entry() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.cron_entry() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.cron_entry() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.cron_entry() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.cron_field(field text, lowest integer, highest integer, names text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.cron_field(field text, lowest integer, highest integer, names text[]) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.cron_name(what text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.cron_name(what text) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.cron_name(what text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.cron_name(what text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.cron_name(what text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.db_now() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.db_now() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.db_now() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.db_now() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.db_now() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.drop_events() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.end_backends() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.end_body(job uuid, attempt integer, result jsonb) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.end_body(job uuid, attempt integer, result jsonb) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.end_body(job uuid, attempt integer, result jsonb) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.fail_body(job uuid, attempt integer, state text, message text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.fail_body(job uuid, attempt integer, state text, message text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.fail_body(job uuid, attempt integer, state text, message text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.find_body(schema_name text, routine_name text, run_as text, OUT id oid, OUT is_procedure boolean, OUT commits boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.find_job(job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.find_job(job uuid) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.find_job(job uuid) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.find_job(job uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.find_job(job uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.finish_job(job uuid, status cortex.job_status, message text, result jsonb, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.finish_job(job uuid, status cortex.job_status, message text, result jsonb, attempt integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.finish_job(job uuid, status cortex.job_status, message text, result jsonb, attempt integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.free_slots(kind text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.hold_session() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.hold_step(job uuid, current bigint, total bigint, attempt integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.in_the_way(relation oid, snapshots boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.in_words(span interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.interrupt_abandoned(candidates bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.interrupt_active(runner uuid, message text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.interrupt_jobs(ids bigint[], reasons text[], as_seen timestamp with time zone[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.interrupt_orphans(runner uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.interrupt_orphans(runner uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.interrupt_silent(candidates bigint[], older_than interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.keep_runner(runner uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.keep_runner(runner uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.keep_runner(runner uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.kinds_to_work(role text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.kinds_to_work(role text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.kinds_to_work(role text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.list_jobs(kinds text[], statuses cortex.job_status[], actor text, scope jsonb, since timestamp with time zone, after_created_at timestamp with time zone, after_uuid uuid, max_rows integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.list_recent(active_only boolean, max_rows integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.list_schedules() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.list_schedules() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.list_schedules() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.list_schedules() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.list_schedules() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.lock_space() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.lock_space() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.lock_space() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.lock_space() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.lock_space() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.lost_bodies() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.lost_bodies() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.lost_bodies() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.maintain() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.maintain() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.maintain() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.maintenance_key(relation oid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.maintenance_key(relation oid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.maintenance_key(relation oid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.maintenance_limits(lock_timeout interval, statement_timeout interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.maintenance_plan(kind text, tables text[]) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.maintenance_tables() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.metrics() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.metrics() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.metrics() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.metrics() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.metrics() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.next_run(line text, after timestamp with time zone, zone text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.next_run(line text, after timestamp with time zone, zone text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.note_end(job uuid, note text, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.note_end(job uuid, note text, attempt integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.note_end(job uuid, note text, attempt integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.outwait(id bigint) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.overview(kind text, hours numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.overview(kind text, hours numeric) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.overview(kind text, hours numeric) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.overview(kind text, hours numeric) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.overview(kind text, hours numeric) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.partition_tree(relation oid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.partition_tree(relation oid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.partition_tree(relation oid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.prometheus_labels(kind text, status cortex.job_status) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.purge_cron_runs() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.purge_cron_runs() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.purge_cron_runs() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.purge_expired(batch_size integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.purge_jobs(older_than interval, batch_size integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.purge_jobs(older_than interval, batch_size integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.purge_plan(older_than interval) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.purge_plan(older_than interval) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.purge_plan(older_than interval) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.purge_plan(older_than interval) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.purge_plan(older_than interval) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.purge_runners(batch_size integer) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.put_cron_entry(entry text, schedule text, statement text, command text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.put_cron_entry(entry text, schedule text, statement text, command text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.put_sql_kind(kind text, schema_name text, routine_name text, run_as text, commits boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.put_sql_kind(kind text, schema_name text, routine_name text, run_as text, commits boolean) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.reap_orphans() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.reap_overdue() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.reap_stale(older_than interval) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.reap_stale(older_than interval) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.record_event() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.record_spawns() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.refused_commit() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.refused_commit() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.refused_commit() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.register_runner(name text, host text, pid integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.register_runner(name text, host text, pid integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.register_runner(name text, host text, pid integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.register_sql_kind(kind text, procedure regprocedure, run_as text, commits boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.register_sql_kind(kind text, procedure regprocedure, run_as text, commits boolean) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.register_sql_kind(kind text, procedure text, run_as text, commits boolean) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.register_sql_kind(kind text, procedure text, run_as text, commits boolean) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.relation_bytes(relation oid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.relation_bytes(relation oid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.relation_bytes(relation oid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.report_populate_active(corpus_id integer, service_id integer, severity text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.report_slice(corpus_id integer, service_id integer, severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.require_cron(command text, statement text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.require_cron(command text, statement text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.require_job(job uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.require_reports() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.require_runner(runner uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.require_severity(severity text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.rerun_job(job uuid, actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.rerun_job(job uuid, actor text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.rerun_job(job uuid, actor text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.rerun_job(job uuid, actor text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.reset_values(relation regclass, names text[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.resolve_tables(tables text[], catalogs boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.retire_runner(runner uuid, message text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.retire_runner(runner uuid, message text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.retire_runner(runner uuid, message text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.retry_jobs(ids bigint[]) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.rules(kind text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.rules(kind text) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.rules(kind text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.rules(kind text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.rules(kind text) TO cortex_admin;

REVOKE ALL ON PROCEDURE cortex.run_analyze(IN job uuid) FROM PUBLIC;
GRANT ALL ON PROCEDURE cortex.run_analyze(IN job uuid) TO cortex_runner;
GRANT ALL ON PROCEDURE cortex.run_analyze(IN job uuid) TO cortex_admin;

REVOKE ALL ON PROCEDURE cortex.run_populate_report(IN job uuid) FROM PUBLIC;
GRANT ALL ON PROCEDURE cortex.run_populate_report(IN job uuid) TO cortex_runner;
GRANT ALL ON PROCEDURE cortex.run_populate_report(IN job uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.run_refresh_reports(job uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.run_refresh_reports(job uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.run_refresh_reports(job uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.schedule_entry(name text) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.schedule_job(name text, schedule text, kind text, params jsonb, actor text, debounce_scope jsonb, debounce_on cortex.debounce_mode, priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.schedule_job(name text, schedule text, kind text, params jsonb, actor text, debounce_scope jsonb, debounce_on cortex.debounce_mode, priority integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.schedule_maintenance(schedule text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.schedule_maintenance(schedule text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.schedule_work(schedule text, max_jobs integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.schedule_work(schedule text, max_jobs integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.schema_version() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.schema_version() TO cortex_reader;
GRANT ALL ON FUNCTION cortex.schema_version() TO cortex_producer;
GRANT ALL ON FUNCTION cortex.schema_version() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.schema_version() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.set_running(job uuid, runner uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.set_running(job uuid, runner uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.set_running(job uuid, runner uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.settle_bodies() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.settle_bodies() TO cortex_runner;
GRANT ALL ON FUNCTION cortex.settle_bodies() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.shortest_keep() FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.signal_backend(pid integer, backend_start timestamp with time zone, terminate boolean) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.silent_jobs(candidates bigint[], older_than interval) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.spawn_analyze(actor text, tables text[], lock_timeout interval, statement_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_analyze(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_analyze(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_analyze(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_job(kind text, actor text, params jsonb, debounce_scope jsonb, debounce_on cortex.debounce_mode, run_at timestamp with time zone, priority integer, runner uuid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_job(kind text, actor text, params jsonb, debounce_scope jsonb, debounce_on cortex.debounce_mode, run_at timestamp with time zone, priority integer, runner uuid) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_job(kind text, actor text, params jsonb, debounce_scope jsonb, debounce_on cortex.debounce_mode, run_at timestamp with time zone, priority integer, runner uuid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_job(kind text, actor text, params jsonb, debounce_scope jsonb, debounce_on cortex.debounce_mode, run_at timestamp with time zone, priority integer, runner uuid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text, priority integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text, priority integer) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text, priority integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_jobs(kind text, params jsonb[], actor text, priority integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_reindex(actor text, tables text[], lock_timeout interval, statement_timeout interval) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_reindex(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_reindex(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_reindex(actor text, tables text[], lock_timeout interval, statement_timeout interval) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_report_populate(corpus_id integer, service_id integer, severity text, actor text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_report_refresh(actor text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_report_refresh(actor text) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.spawn_report_refresh(actor text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.spawn_report_refresh(actor text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.spawn_scheduled(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.spawn_scheduled(name text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.sql_body(kind text, role text, OUT statement text, OUT gives_value boolean, OUT commits boolean, OUT called text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.sql_body(kind text, role text, OUT statement text, OUT gives_value boolean, OUT commits boolean, OUT called text) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.sql_body(kind text, role text, OUT statement text, OUT gives_value boolean, OUT commits boolean, OUT called text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.start_jobs(ids bigint[], runner uuid) FROM PUBLIC;

REVOKE ALL ON FUNCTION cortex.status_counts(hours numeric) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.status_counts(hours numeric) TO cortex_reader;
GRANT ALL ON FUNCTION cortex.status_counts(hours numeric) TO cortex_producer;
GRANT ALL ON FUNCTION cortex.status_counts(hours numeric) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.status_counts(hours numeric) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.step(job uuid, current bigint, total bigint, message text, attempt integer) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.step(job uuid, current bigint, total bigint, message text, attempt integer) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.step(job uuid, current bigint, total bigint, message text, attempt integer) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.step_jobs(jobs uuid[], current bigint[], total bigint[], message text[], attempt integer[]) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.step_jobs(jobs uuid[], current bigint[], total bigint[], message text[], attempt integer[]) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.step_jobs(jobs uuid[], current bigint[], total bigint[], message text[], attempt integer[]) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.table_indexes(relation oid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.table_indexes(relation oid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.table_indexes(relation oid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.take_cron_entry(entry text, command text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.take_cron_entry(entry text, command text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.tree_bytes(relation oid) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.tree_bytes(relation oid) TO cortex_runner;
GRANT ALL ON FUNCTION cortex.tree_bytes(relation oid) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.unschedule_job(name text) FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.unschedule_job(name text) TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.unschedule_maintenance() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.unschedule_maintenance() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.unschedule_work() FROM PUBLIC;
GRANT ALL ON FUNCTION cortex.unschedule_work() TO cortex_admin;

REVOKE ALL ON FUNCTION cortex.window_start(hours numeric) FROM PUBLIC;

REVOKE ALL ON PROCEDURE cortex.work(IN max_jobs integer) FROM PUBLIC;
GRANT ALL ON PROCEDURE cortex.work(IN max_jobs integer) TO cortex_runner;
GRANT ALL ON PROCEDURE cortex.work(IN max_jobs integer) TO cortex_admin;

REVOKE ALL ON FUNCTION corpus.count_marked(integer, integer) FROM PUBLIC;

GRANT MAINTAIN ON TABLE corpus.change TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.change TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.cleared TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.cleared TO cortex_admin;

GRANT SELECT ON TABLE corpus.corpora TO cortex_reader;
GRANT SELECT ON TABLE corpus.corpora TO cortex_producer;
GRANT SELECT,MAINTAIN ON TABLE corpus.corpora TO cortex_runner;
GRANT SELECT,MAINTAIN ON TABLE corpus.corpora TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.grain_name TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.grain_name TO cortex_admin;

GRANT SELECT ON TABLE corpus.historical_tasks TO cortex_reader;
GRANT SELECT ON TABLE corpus.historical_tasks TO cortex_producer;
GRANT SELECT,MAINTAIN ON TABLE corpus.historical_tasks TO cortex_runner;
GRANT SELECT,MAINTAIN ON TABLE corpus.historical_tasks TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.kept_count TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.kept_count TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.kept_task TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.kept_task TO cortex_admin;

GRANT SELECT ON TABLE corpus.log_errors TO cortex_reader;
GRANT SELECT ON TABLE corpus.log_errors TO cortex_producer;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_errors TO cortex_runner;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_errors TO cortex_admin;

GRANT SELECT ON TABLE corpus.log_fatals TO cortex_reader;
GRANT SELECT ON TABLE corpus.log_fatals TO cortex_producer;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_fatals TO cortex_runner;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_fatals TO cortex_admin;

GRANT SELECT ON TABLE corpus.log_infos TO cortex_reader;
GRANT SELECT ON TABLE corpus.log_infos TO cortex_producer;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_infos TO cortex_runner;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_infos TO cortex_admin;

GRANT SELECT ON TABLE corpus.log_invalids TO cortex_reader;
GRANT SELECT ON TABLE corpus.log_invalids TO cortex_producer;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_invalids TO cortex_runner;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_invalids TO cortex_admin;

GRANT SELECT ON TABLE corpus.log_warnings TO cortex_reader;
GRANT SELECT ON TABLE corpus.log_warnings TO cortex_producer;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_warnings TO cortex_runner;
GRANT SELECT,INSERT,MAINTAIN ON TABLE corpus.log_warnings TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.part TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.part TO cortex_admin;

GRANT SELECT ON TABLE corpus.report_grain_cache TO cortex_reader;
GRANT SELECT ON TABLE corpus.report_grain_cache TO cortex_producer;
GRANT SELECT,MAINTAIN ON TABLE corpus.report_grain_cache TO cortex_runner;
GRANT SELECT,MAINTAIN ON TABLE corpus.report_grain_cache TO cortex_admin;

GRANT SELECT ON TABLE corpus.services TO cortex_reader;
GRANT SELECT ON TABLE corpus.services TO cortex_producer;
GRANT SELECT,MAINTAIN ON TABLE corpus.services TO cortex_runner;
GRANT SELECT,MAINTAIN ON TABLE corpus.services TO cortex_admin;

GRANT MAINTAIN ON TABLE corpus.slice TO cortex_runner;
GRANT MAINTAIN ON TABLE corpus.slice TO cortex_admin;

GRANT SELECT ON TABLE corpus.tasks TO cortex_reader;
GRANT SELECT ON TABLE corpus.tasks TO cortex_producer;
GRANT SELECT,MAINTAIN ON TABLE corpus.tasks TO cortex_runner;
GRANT SELECT,MAINTAIN ON TABLE corpus.tasks TO cortex_admin;

GRANT SELECT ON TABLE cortex.configuration TO cortex_reader;
GRANT SELECT ON TABLE cortex.configuration TO cortex_producer;
GRANT SELECT ON TABLE cortex.configuration TO cortex_runner;
GRANT SELECT ON TABLE cortex.configuration TO cortex_admin;

GRANT SELECT ON TABLE cortex.job_activity TO cortex_reader;
GRANT SELECT ON TABLE cortex.job_activity TO cortex_producer;
GRANT SELECT ON TABLE cortex.job_activity TO cortex_runner;
GRANT SELECT ON TABLE cortex.job_activity TO cortex_admin;

GRANT SELECT ON TABLE cortex.job_events TO cortex_reader;
GRANT SELECT ON TABLE cortex.job_events TO cortex_producer;
GRANT SELECT ON TABLE cortex.job_events TO cortex_runner;
GRANT SELECT ON TABLE cortex.job_events TO cortex_admin;

GRANT SELECT ON TABLE cortex.kinds TO cortex_reader;
GRANT SELECT ON TABLE cortex.kinds TO cortex_producer;
GRANT SELECT ON TABLE cortex.kinds TO cortex_runner;
GRANT SELECT ON TABLE cortex.kinds TO cortex_admin;

GRANT SELECT ON TABLE cortex.runners TO cortex_reader;
GRANT SELECT ON TABLE cortex.runners TO cortex_producer;
GRANT SELECT ON TABLE cortex.runners TO cortex_runner;
GRANT SELECT ON TABLE cortex.runners TO cortex_admin;

GRANT SELECT ON TABLE cortex.sql_kinds TO cortex_reader;
GRANT SELECT ON TABLE cortex.sql_kinds TO cortex_producer;
GRANT SELECT ON TABLE cortex.sql_kinds TO cortex_runner;
GRANT SELECT ON TABLE cortex.sql_kinds TO cortex_admin;

GRANT SELECT ON TABLE cortex.upkeep_record TO cortex_reader;
GRANT SELECT ON TABLE cortex.upkeep_record TO cortex_producer;
GRANT SELECT ON TABLE cortex.upkeep_record TO cortex_runner;
GRANT SELECT ON TABLE cortex.upkeep_record TO cortex_admin;

GRANT SELECT ON TABLE cortex.waiting TO cortex_reader;
GRANT SELECT ON TABLE cortex.waiting TO cortex_producer;
GRANT SELECT ON TABLE cortex.waiting TO cortex_runner;
GRANT SELECT ON TABLE cortex.waiting TO cortex_admin;
