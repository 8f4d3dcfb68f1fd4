"""Routines that are bodies of jobs, in a schema of the tests' own, and short ways to run them."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import psycopg

from tests.sql.asking import value

Conn = psycopg.Connection[Any]

BODIES = """
create schema app;
create table app.done (job uuid, pid integer default pg_backend_pid(), note text default '');

create function app.note(job uuid) returns jsonb language plpgsql as $$
begin
    insert into app.done (job) values (note.job);
    return (
        select jsonb_build_object('was', j.params) from cortex.jobs as j where j.uuid = note.job
    );
end $$;

create procedure app.note_too(job uuid) language sql as $$
    insert into app.done (job) values (job);
$$;

create function app.fail(job uuid) returns void language plpgsql as $$
begin
    insert into app.done (job) values (fail.job);
    raise exception 'no such page: %', 7 using errcode = '22023', detail = 'page 7';
end $$;

create procedure app.commit_thrice(job uuid) language plpgsql as $$
begin
    for i in 1..3 loop
        insert into app.done (job, note) values (commit_thrice.job, i);
        perform cortex.step(job, i, 3, 'page ' || i);
        commit;
    end loop;
end $$;

create procedure app.commit_and_fail(job uuid) language plpgsql as $$
begin
    insert into app.done (job) values (commit_and_fail.job);
    commit;
    perform 1 / 0;
end $$;

create function app.sleep(job uuid) returns void language sql as 'select pg_sleep(600)';

create procedure app.commit_and_sleep(job uuid) language plpgsql as $$
begin
    commit;
    perform pg_sleep(600);
end $$;
"""


def make_bodies(conn: Conn) -> None:
    """Put them into schema app and register each as the body of the kind of its name."""
    conn.execute(BODIES)
    for (name,) in conn.execute(
        "select proname from pg_proc where pronamespace = 'app'::regnamespace"
    ).fetchall():
        conn.execute("select cortex.register_sql_kind(%s, %s)", [name, f"app.{name}"])


def spawn(conn: Conn, kind: str, **arguments: Any) -> UUID:
    """Queue a job of *kind*."""
    named = "".join(f", {name} => %({name})s" for name in arguments)
    job: UUID = value(
        conn,
        f"select uuid from cortex.spawn_job(kind => %(kind)s{named})",
        {"kind": kind} | arguments,
    )
    return job


def ended(conn: Conn, job: UUID) -> tuple[str, str]:
    """How a job stands, and its message."""
    row = conn.execute("select status, message from cortex.jobs where uuid = %s", [job]).fetchone()
    assert row is not None
    return row[0], row[1]


def done(conn: Conn) -> list[UUID]:
    """The jobs whose bodies left a note, in order."""
    return [job for (job,) in conn.execute("select job from app.done order by ctid")]
