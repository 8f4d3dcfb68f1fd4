-- Say what is missing where pg_cron can't be called in this database.
--
-- Called by   put_cron_entry, take_cron_entry, which say what to run where pg_cron lives: a command of ours
--             where there is one, or a statement
-- Raises      0A000 with what to do: pg_cron is not on the server, not created here, or lives in
--             another database (then the detail names that database, alone); 28000 the caller
--             can't log in, 42501 or may not use pg_cron

create or replace function cortex.require_cron(command text, statement text)
returns void
language plpgsql
stable
set search_path = ''
as $$
declare
    v_adding constant boolean := require_cron.statement like 'select cron.schedule%';
    v_home pg_catalog.text;
begin
    if exists (select from pg_catalog.pg_extension as e where e.extname = 'pg_cron') then
        if v_adding
            and not (select r.rolcanlogin from pg_catalog.pg_roles as r where r.rolname = current_user)
        then
            raise exception 'role % can''t log in, so pg_cron can''t run as it',
                current_user
                using errcode = '28000', hint = format('alter role %I login;', current_user);
        end if;
        if not has_schema_privilege(to_regnamespace('cron'), 'usage') then
            raise exception 'role % may not use schema cron of pg_cron',
                current_user
                using errcode = '42501',
                hint = format('As a superuser: grant usage on schema cron to %I;', current_user);
        end if;
        return;
    end if;

    begin
        v_home := current_setting('cron.database_name', true);
    exception when insufficient_privilege then
        -- Only members of pg_read_all_settings may know.
        v_home := null;
    end;

    if v_home = current_database() then
        raise exception 'pg_cron is loaded but not created in database %', current_database()
            using errcode = '0A000',
            hint = case
                when v_adding then 'As a superuser: create extension pg_cron;'
                else 'So there is no entry that could be taken off.'
            end;
    end if;
    if v_home <> current_database() then
        raise exception 'pg_cron lives in database %, not in %', v_home, current_database()
            using errcode = '0A000',
            detail = v_home,
            hint = coalesce('Run "' || require_cron.command || '", or in', 'In')
            || format(' database %s: %s;', v_home, require_cron.statement);
    end if;
    raise exception 'pg_cron is not in database %', current_database()
        using errcode = '0A000',
        hint = format(
            'If it lives in another database of this server, run %sthere: %s; ',
            '"' || require_cron.command || ' --cron-database NAME", or ',
            require_cron.statement
        )
        || case
            when v_adding then 'else install it, or leave this to running workers.'
            else 'else there is no entry.'
        end;
end;
$$;

comment on function cortex.require_cron(text, text) is
'Raises, with what to do, unless pg_cron can be called in this database.';
