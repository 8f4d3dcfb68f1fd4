-- Let pg_cron run the jobs of this database whose kind has a body in SQL; call it again to change the entry,
-- or to switch it on again.
--
-- Runs as its caller, whose entry it is: as that role the bodies run, and only bodies that were registered
-- for it.
--
-- Called by   an operator, once for each role that bodies are registered for
-- Returns     the number of the entry in pg_cron
-- Raises      0A000 pg_cron can't be called here (the hint says what to do),
--             22023 the schedule isn't a cron line (pg_cron judges what has five fields), or fewer than one job,
--             28000 the caller can't log in, 42501 or may not use pg_cron, or is a superuser where the owner of
--             this schema is none
-- Warns       of a schedule that never comes true

create or replace function cortex.schedule_work(
    schedule text default '* * * * *',
    max_jobs integer default 100
)
returns bigint
language plpgsql
volatile
security invoker
set search_path = ''
as $$
begin
    if schedule_work.max_jobs < 1 then
        raise exception 'max_jobs is %', schedule_work.max_jobs
            using errcode = '22023', hint = 'At least one job a run.';
    end if;

    -- The code of work is the owner's, and would run with all rights.
    if (select r.rolsuper from pg_catalog.pg_roles as r where r.rolname = current_user)
        and not (
            select r.rolsuper
            from pg_catalog.pg_namespace as n
            join pg_catalog.pg_roles as r on r.oid = n.nspowner
            where n.nspname = 'cortex'
        )
    then
        raise exception 'role % is a superuser, the owner of schema cortex is not', current_user
            using errcode = '42501',
            hint = format(
                'grant usage on schema cron to %1$I; set role %1$I; and again.',
                (
                    select pg_get_userbyid(n.nspowner)
                    from pg_catalog.pg_namespace as n
                    where n.nspname = 'cortex'
                )
            );
    end if;

    return cortex.put_cron_entry(
        entry => cortex.cron_name(what => 'work'),
        schedule => coalesce(schedule_work.schedule, '* * * * *'),
        statement => format('call cortex.work(%s)', coalesce(schedule_work.max_jobs, 100)),
        command => null
    );
end;
$$;

comment on function cortex.schedule_work(text, integer) is
'Lets pg_cron run jobs whose kind has a body in SQL, as the caller; idempotent.';
