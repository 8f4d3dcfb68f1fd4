#!/bin/sh
# At the first start make the cluster, a role and a database "app" that it owns, and pg_cron in it;
# then become PostgreSQL.
set -eu

: "${POSTGRES_PASSWORD:?give the role app a password in POSTGRES_PASSWORD}"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    # Made beside the folder's end state: a first start that was cut short begins anew.
    new="$PGDATA/new"
    rm -rf "$new"
    initdb --pgdata="$new" --username=postgres --encoding=UTF8 --locale=C.UTF-8 \
        --auth-local=trust --auth-host=scram-sha-256
    echo "host app app all scram-sha-256" >> "$new/pg_hba.conf"
    cat >> "$new/postgresql.conf" << END
listen_addresses = '*'
shared_preload_libraries = 'pg_cron'
cron.database_name = 'app'
cron.use_background_workers = on
END
    pg_ctl --pgdata="$new" --wait --options="-c listen_addresses=''" start
    psql --no-psqlrc --quiet --set=ON_ERROR_STOP=1 --username=postgres \
        --set=password="$POSTGRES_PASSWORD" << END
create role app login password :'password';
create database app owner app;
\connect app
create extension pg_cron;
grant usage on schema cron to app;
END
    pg_ctl --pgdata="$new" --wait --mode=fast stop
    rm -f "$new/postmaster.opts"
    mv "$new"/* "$PGDATA"
    rmdir "$new"
fi

exec postgres
