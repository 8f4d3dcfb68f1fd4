-- For bodies that run outside the runner's own process: which attempt has begun, so that no executor
-- begins it twice; and a beat that tells a runner whose process it has to end.

alter table cortex.job add column begun_attempt integer;

comment on column cortex.job.begun_attempt is
'The latest attempt whose body was begun by an executor that might begin it again; else null.';

-- Returns one more column from now on.
drop function if exists cortex.keep_runner(uuid);
