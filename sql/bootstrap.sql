-- What must hold before the migrations run, and the shelf on which they keep their books.
--
-- Called by   the installer and `pycortex sql`, first, inside the installation's transaction
-- Raises      0A000 server too old, 22P05 database not UTF-8, 25006 nothing can be written here, 42501 the
--             schema is another role's, 42P06 another schema cortex is in the way

do $$
declare
    v_stranger text;
    v_owner name;
begin
    if current_setting('server_version_num')::integer < 140000 then
        raise exception 'PostgreSQL % is too old, 14 is the oldest that works',
            current_setting('server_version')
            using errcode = '0A000', hint = 'Install into a database of PostgreSQL 14 or newer.';
    end if;

    if current_setting('server_encoding') not in ('UTF8') then
        raise exception 'database % is encoded in %, not in UTF8',
            current_database(), current_setting('server_encoding')
            using errcode = '22P05',
            hint = 'Jobs carry any text: create a database with encoding ''UTF8'' and template template0.';
    end if;

    if current_setting('transaction_read_only') = 'on' then
        raise exception 'nothing can be written to database %: %', current_database(),
            case
                when pg_is_in_recovery() then 'this server is a standby'
                else 'default_transaction_read_only is on'
            end
            using errcode = '25006',
            hint = case
                when pg_is_in_recovery() then 'Install on its primary.'
                else 'Set default_transaction_read_only = off for this session.'
            end;
    end if;

    select pg_get_userbyid(c.relowner)
    into v_owner
    from pg_catalog.pg_class as c
    join pg_catalog.pg_namespace as n on n.oid = c.relnamespace
    where n.nspname = 'cortex'
        and c.relname = '_yoyo_migration'
        and not pg_has_role(c.relowner, 'usage');

    if found then
        raise exception 'pycortex in database % belongs to role %, not to %',
            current_database(), v_owner, current_user
            using errcode = '42501', hint = 'Do this as that role, or as a member of it.';
    end if;

    if to_regclass('cortex._yoyo_migration') is null then
        select format('%s %I.%I', o.what, 'cortex', o.name)
        into v_stranger
        from (
            select 'relation' as what, c.relname as name
            from pg_catalog.pg_class as c
            where c.relnamespace = to_regnamespace('cortex')
            union all
            select 'routine', p.proname
            from pg_catalog.pg_proc as p
            where p.pronamespace = to_regnamespace('cortex')
            union all
            select 'type', t.typname
            from pg_catalog.pg_type as t
            where t.typnamespace = to_regnamespace('cortex')
        ) as o
        order by o.what, o.name
        limit 1;

        if found then
            raise exception 'schema cortex already holds something that is not ours: %', v_stranger
                using errcode = '42P06',
                hint = 'Rename that schema or use another database; nothing was changed.';
        end if;
    end if;

    -- "create schema if not exists" asks for the right to create even where it has nothing to do.
    if to_regnamespace('cortex') is null then
        create schema cortex;
    end if;
end;
$$;

-- Where jobs run, take everything that is about to be replaced at once, before anything else. Others take
-- a view and a table in either order, so taking them one by one could end in a deadlock; and a request
-- that waits stops all who come after it. So each try is shorter than the server's deadlock_timeout, lets
-- go of what it got, and comes again. Views first: most look before they write.

do $$
declare
    v_patience constant interval := current_setting('lock_timeout')::interval;
    v_start constant timestamptz := clock_timestamp();
    v_views text[];
    v_tables text;
    v_view text;
begin
    select
        array_agg(
            format(
                'alter view cortex.%I owner to %I', c.relname, pg_catalog.pg_get_userbyid(c.relowner)
            )
            order by c.relname
        ) filter (where c.relkind = 'v'),
        string_agg(format('cortex.%I', c.relname), ', ' order by c.relname) filter (where c.relkind = 'r')
    into v_views, v_tables
    from pg_catalog.pg_class as c
    where c.relnamespace = to_regnamespace('cortex')
        and c.relkind in ('r', 'v');

    if v_views is null or v_tables is null then
        return;
    end if;

    loop
        begin
            perform set_config('lock_timeout', '150ms', true);
            -- Lock table would lock what a view reads as well, the system's tables among it. To give a
            -- view to whom it belongs locks the view, and changes nothing.
            foreach v_view in array v_views loop
                execute v_view;
            end loop;
            execute format('lock table %s in access exclusive mode', v_tables);
            exit;
        exception when lock_not_available then
            if v_patience > '0' and clock_timestamp() - v_start > v_patience then
                raise;
            end if;
        end;
        perform pg_sleep(0.05 + random() * 0.1);
    end loop;

    perform set_config('lock_timeout', extract(epoch from v_patience) * 1000 || 'ms', true);
end;
$$;

comment on schema cortex is 'Background jobs: one row is one job (pycortex).';

-- The tables of yoyo-migrations, as its version 2 would create them, but with times in timestamptz.

create table if not exists cortex._yoyo_migration (
    migration_hash varchar(64) primary key,
    migration_id varchar(255),
    applied_at_utc timestamptz
);

create table if not exists cortex._yoyo_log (
    id varchar(36) primary key,
    migration_hash varchar(64),
    migration_id varchar(255),
    operation varchar(10),
    username varchar(255),
    hostname varchar(255),
    comment varchar(255),
    created_at_utc timestamptz
);

create table if not exists cortex._yoyo_version (
    version integer not null primary key,
    installed_at_utc timestamptz
);

create table if not exists cortex.yoyo_lock (
    locked integer not null default 1 primary key,
    ctime timestamptz,
    pid integer not null
);

insert into cortex._yoyo_version (version, installed_at_utc)
values (2, clock_timestamp())
on conflict do nothing;

comment on table cortex._yoyo_migration is 'Migrations that were applied (yoyo-migrations).';
comment on table cortex._yoyo_log is 'When and by whom migrations were applied (yoyo-migrations).';
comment on table cortex._yoyo_version is 'Layout of these tables (yoyo-migrations).';
comment on table cortex.yoyo_lock is
'Lock row of yoyo-migrations. Stays empty: an installation holds a transaction-level advisory lock.';
