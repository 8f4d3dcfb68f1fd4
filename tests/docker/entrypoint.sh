#!/bin/sh
# Make the cluster at the first start, then become PostgreSQL.
set -eu

: "${POSTGRES_PASSWORD:?give the superuser a password in POSTGRES_PASSWORD}"
: "${CRON_DATABASE:=postgres}"

if [ ! -s "$PGDATA/PG_VERSION" ]; then
    umask 077
    printf '%s\n' "$POSTGRES_PASSWORD" > /tmp/password
    initdb --username=postgres --pwfile=/tmp/password --encoding=UTF8 --locale=C --no-sync \
        --auth-local=trust --auth-host=scram-sha-256
    rm /tmp/password
    echo "host all all all scram-sha-256" >> "$PGDATA/pg_hba.conf"
    cat >> "$PGDATA/postgresql.conf" << END
listen_addresses = '*'
max_connections = 300
max_worker_processes = 20
fsync = off
synchronous_commit = off
full_page_writes = off
shared_preload_libraries = 'pg_cron'
cron.database_name = '$CRON_DATABASE'
cron.use_background_workers = on
END
fi

exec postgres
