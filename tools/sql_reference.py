"""
docs/sql-reference.md, from the catalogue of a database in which everything is freshly installed.

    python -m tools.sql_reference             write it anew (make docs)
    python -m tools.sql_reference --check     say whether it is up to date (make check)

What a routine is comes from the catalogue, what its signature can't say from the header of its
file, and the example, with its output, from docs/examples, run on that database. A server of one
version makes it, the embedded one, so that the same thing is written in the same way everywhere.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg
from psycopg.rows import dict_row

from pycortex.install import install
from tests.servers import EmbeddedServer
from tools.examples import play

ROOT = Path(__file__).parent.parent
PAGE = ROOT / "docs" / "sql-reference.md"
EXAMPLES = ROOT / "docs" / "examples"
SQL = ROOT / "sql"
LADDER = ["cortex_reader", "cortex_producer", "cortex_runner", "cortex_admin"]

AUDIENCES = {
    "producers": "For whoever wants work done",
    "readers": "For whoever looks",
    "workers": "For whoever does the work",
    "upkeep": "Upkeep and settings",
    "builtin": "Built-in jobs",
}

INTRODUCTION = """\
# SQL reference

Made from the comments in the database by `make docs`; change those, not this page.

Arguments are best given by name; one with a default may be left out, and null means the default.
Errors carry an SQLSTATE. The role named with a routine is the least that may call it; the roles are
described in [security](security.md), the order in which locks are taken in
[operations](operations.md#locks).

The examples are what psql prints. `:'job'` and `:'runner'` are psql variables that hold the uuid of
a job and of a runner. Times and uuids in the output are made up; the rest is as it came.
"""

ENTRY = re.compile(r"^-- (?P<label>[A-Z][a-z]+(?: by)?) {2,}(?P<text>\S.*)$")
CONTINUED = re.compile(r"^-- {8,}(?P<text>\S.*)$")

ROUTINES = """
select
    p.oid::regprocedure::text as signature,
    p.proname as name,
    p.prokind as kind,
    p.prosecdef as is_definer,
    pg_get_function_result(p.oid) as result,
    array(
        select
            a.name || ' ' || format_type(a.type, null)
            || coalesce(' default ' || pg_get_function_arg_default(p.oid, a.place::integer), '')
        from unnest(p.proargnames, p.proargtypes::oid[]) with ordinality as a(name, type, place)
        where a.place <= p.pronargs
        order by a.place
    ) as arguments,
    obj_description(p.oid, 'pg_proc') as comment,
    (
        select min(r.place)
        from unnest(%(ladder)s::text[]) with ordinality as r(role, place)
        where has_function_privilege(r.role, p.oid, 'execute')
    ) as least_role
from pg_proc as p
where p.pronamespace = %(schema)s::regnamespace and p.proname = %(name)s
order by p.oid -- a second spelling stands behind the first in its file
limit 1
"""

# A column without words of its own has those of the column of that name in a table under the view;
# a kind's are those of the settings.
COLUMNS = """
select
    a.attname as name,
    format_type(a.atttypid, a.atttypmod) as type,
    coalesce(
        col_description(a.attrelid, a.attnum),
        (
            select col_description(t.attrelid, t.attnum)
            from pg_rewrite as r
            join pg_depend as d on d.classid = 'pg_rewrite'::regclass and d.objid = r.oid
            join pg_attribute as t on t.attrelid = d.refobjid and t.attname = a.attname
            where r.ev_class = a.attrelid
                and d.refclassid = 'pg_class'::regclass
                and d.refobjid <> r.ev_class
                and col_description(t.attrelid, t.attnum) is not null
            limit 1
        ),
        (
            select col_description(t.attrelid, t.attnum)
            from pg_attribute as t
            where t.attrelid = 'cortex.settings'::regclass
                and t.attname = a.attname
                and %(view)s = 'cortex.kinds'
        ),
        ''
    ) as comment
from pg_attribute as a
where a.attrelid = %(view)s::regclass and a.attnum > 0 and not a.attisdropped
order by a.attnum
"""

TYPES = """
select
    t.oid::regtype::text as name,
    obj_description(t.oid, 'pg_type') as comment,
    array(
        select e.enumlabel::text from pg_enum as e where e.enumtypid = t.oid
        order by e.enumsortorder
    ) as labels
from pg_type as t
where t.typnamespace = 'cortex'::regnamespace and t.typtype = 'e'
order by 1
"""


@dataclass(frozen=True)
class Reference:
    """The page in the making: a connection to the catalogue, and where to run examples."""

    conn: psycopg.Connection[Any]
    url: str

    def page(self) -> str:
        """The whole of it."""
        return "\n".join([INTRODUCTION, *self._contents(), *self._parts()])

    def _contents(self) -> Iterator[str]:
        for folder, title in AUDIENCES.items():
            names = ", ".join(
                f"[{path.stem}](#{path.stem})" for path in files(f"functions/{folder}")
            )
            yield f"- [{title}](#{anchor(title)}): {names}"
        views = ", ".join(f"[{path.stem}](#{path.stem})" for path in files("views"))
        yield f"- [Views](#views): {views}"
        yield "- [Types](#types), [Schema corpus](#schema-corpus)"
        yield ""

    def _parts(self) -> Iterator[str]:
        for folder, title in AUDIENCES.items():
            yield f"## {title}\n"
            for path in files(f"functions/{folder}"):
                yield from self._routine(path, "cortex")
        yield "## Views\n"
        yield "Every role may read them.\n"
        for path in files("views"):
            yield from self._view(path)
        yield "## Types\n"
        for row in self._rows(TYPES):
            labels = ", ".join(f"`{label}`" for label in row["labels"])
            yield f"- `{row['name']}`: {labels}. {row['comment']}"
        yield ""
        yield "## Schema corpus\n"
        yield "Only where it was not left out at the installation.\n"
        for path in files("corpus"):
            yield from self._routine(path, "corpus")

    def _routine(self, path: Path, schema: str) -> Iterator[str]:
        (row,) = self._rows(ROUTINES, schema=schema, name=path.stem, ladder=LADDER)
        if row["least_role"] is None:
            return  # a helper
        prefix = "" if schema == "cortex" else f"{schema}."
        yield f"### {prefix}{row['name']}\n"
        yield f"{row['comment']}\n"
        yield f"```plpgsql\n{signature(schema, row)}\n```\n"
        yield f"- **Role**: `{LADDER[row['least_role'] - 1]}`"
        for label, text in header(path):
            yield f"- **{label}**: {text}"
        yield ""
        yield from self._example(f"{prefix}{row['name']}")

    def _view(self, path: Path) -> Iterator[str]:
        (row,) = self._rows(
            "select obj_description(%(view)s::regclass, 'pg_class') as comment",
            view=f"cortex.{path.stem}",
        )
        yield f"### {path.stem}\n"
        yield f"{row['comment']}\n"
        yield "| column | type | |"
        yield "| --- | --- | --- |"
        for column in self._rows(COLUMNS, view=f"cortex.{path.stem}"):
            comment = f"{column['comment']} " if column["comment"] else ""
            yield f"| `{column['name']}` | {plain(column['type'])} | {comment}|"
        yield ""
        yield from self._example(path.stem)

    def _example(self, name: str) -> Iterator[str]:
        path = EXAMPLES / f"{name}.sql"
        if not path.exists():
            raise FileNotFoundError(f"every routine and view has an example, {name} wants {path}")
        yield f"```text\n{play(self.url, path.read_text(encoding='utf-8'))}\n```\n"

    def _rows(self, query: str, **values: Any) -> list[dict[str, Any]]:
        with self.conn.cursor(row_factory=dict_row) as cursor:
            return cursor.execute(query, values).fetchall()


def files(folder: str) -> list[Path]:
    """The files of a folder of sql/."""
    return sorted((SQL / folder).glob("*.sql"))


def anchor(title: str) -> str:
    """What a heading is called in a link."""
    return re.sub(r"[^\w-]", "", title.lower().replace(" ", "-"))


def signature(schema: str, row: dict[str, Any]) -> str:
    """The signature as it is written in this project."""
    arguments = [plain(argument) for argument in row["arguments"]]
    if row["kind"] == "p":
        start, end = f"procedure {schema}.{row['name']}(", ")"
    else:
        result = plain(row["result"]).replace("TABLE(", "table (").replace("SETOF ", "setof ")
        start, end = f"{schema}.{row['name']}(", f") returns {result}"
    if len(start + ", ".join(arguments) + end) <= 88:
        return start + ", ".join(arguments) + end
    if len(end) > 88:
        end = end.replace("table (", "table (\n    ").replace(", ", ",\n    ")[:-1] + "\n)"
    if not arguments:
        return start + end
    return "\n".join([start, ",\n".join(f"    {argument}" for argument in arguments), end])


def plain(text: str) -> str:
    """A part of a signature without the casts that the catalogue adds; with short type names."""
    text = re.sub(r"('(?:[^']|'')*'|NULL)::[\w .]+(\[\])?", r"\1", text)
    return text.replace("NULL", "null").replace("timestamp with time zone", "timestamptz")


def header(path: Path) -> list[tuple[str, str]]:
    """The entries at the head of a routine's file: called by, returns, raises, locks, signals."""
    found: list[tuple[str, str]] = []
    for line in path.read_text(encoding="utf-8").splitlines():
        if not line.startswith("--"):
            break
        if entry := ENTRY.match(line):
            found.append((entry["label"], entry["text"]))
        elif found and (more := CONTINUED.match(line)):
            found[-1] = (found[-1][0], f"{found[-1][1]} {more['text']}")
    return [(label, text) for label, text in found if label != "Source"]


def reference() -> str:
    """Make the page."""
    server = EmbeddedServer()
    try:
        url = server.create("app")
        install(url)
        with psycopg.connect(url, autocommit=True) as conn:
            return Reference(conn, url).page().rstrip() + "\n"
    finally:
        server.close()


def main() -> None:
    """Write the page; with --check only say whether it is up to date."""
    if "--check" not in sys.argv:
        PAGE.write_text(reference(), encoding="utf-8")
    elif PAGE.read_text(encoding="utf-8") != reference():
        sys.exit(f"{PAGE.name} is not what the database says: make docs")


if __name__ == "__main__":
    main()
