-- The words of the system. An enum is a promise: labels are only ever added.

create type cortex.job_status as enum (
    'queued',
    'running',
    'succeeded',
    'failed',
    'interrupted',
    'cancelled'
);

comment on type cortex.job_status is
'Life of a job: queued and running are active, the other four are terminal.';

create type cortex.verdict as enum ('continue', 'cancel', 'stop');

comment on type cortex.verdict is
'What a job hears when it steps: go on, wind down because somebody asked, or stop: the job is no longer yours.';

create type cortex.debounce_mode as enum ('active', 'queued');

comment on type cortex.debounce_mode is
'Which jobs of a scope keep a new one out: any active job, or only one that still waits.';

create type cortex.interrupt_policy as enum ('leave', 'requeue');

comment on type cortex.interrupt_policy is
'What becomes of an interrupted job: it stays so, or is tried again while attempts are left.';

-- A domain is checked when a value is given, a table's check at every update of the row: a heartbeat
-- must not unpack large params to find out once more what they are.

create domain cortex.json_object as jsonb
constraint json_object_is_an_object check (jsonb_typeof(value) = 'object');

comment on domain cortex.json_object is
'A JSON object, not another JSON value.';
