-- Each event asked, by its foreign key, whether its job is there, and locked the job's row for that: of all
-- that an event costs, the greater part. Only the triggers on cortex.job write events, in the transaction
-- that has just written the job, so the answer was always yes. That events go with their job is now done by
-- the trigger job_takes_its_events, for a whole batch at once.

alter table cortex.event drop constraint event_job_fkey;
