"""configure: what holds for every kind, and for one."""

import dataclasses
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import click
from psycopg import Connection

from pycortex import sql
from pycortex.cli._app import App, Command, pass_app
from pycortex.cli._jobs import span
from pycortex.cli._output import print_json
from pycortex.cli._table import Column, print_table
from pycortex.cli._time import span_of
from pycortex.cli._types import KIND
from pycortex.models import Configuration, InterruptPolicy, KindRules

__all__ = ["configure"]

SPANS = {
    "stale_after": "Silence after which a running job is presumed hung.",
    "run_timeout": "How long a job may run.",
    "queue_timeout": "How long a job may wait for its start.",
    "backoff": "Wait before the second attempt; doubled before each further one.",
    "backoff_limit": "The longest wait before an attempt; for every kind only.",
    "keep": "How long a job is kept when it is over.",
    "cancel_grace": "Between a hard cancel's two measures; for every kind only.",
    "runner_beat": "How often a runner gives a sign of life; for every kind only.",
    "runner_grace": "Silence after which a runner is given up; for every kind only.",
}
NUMBERS = {
    "max_attempts": "How often a job is started at most.",
    "max_running": "How many jobs of a kind run at once.",
}
ONLY_ALL = {"backoff_limit", "cancel_grace", "runner_beat", "runner_grace"}
NAMES = [field.name for field in dataclasses.fields(Configuration)]


def _settings(function: Callable[..., Any]) -> Callable[..., Any]:
    for name in reversed(NAMES):
        option = f"--{name.replace('_', '-')}"
        if name in SPANS:
            function = click.option(option, metavar="TIME", help=SPANS[name])(function)
        elif name in NUMBERS:
            range_ = click.IntRange(1, 2**31 - 1)
            function = click.option(option, type=range_, help=NUMBERS[name])(function)
        else:
            choice = click.Choice([policy.value for policy in InterruptPolicy])
            words = "What becomes of a job whose runner is gone or that is hung."
            function = click.option(option, type=choice, help=words)(function)
    return function


@click.command(cls=Command, example="pycortex configure corpus_import --stale-after '6 hours'")
@click.argument("kind", type=KIND, required=False, metavar="[KIND]")
@_settings
@click.option(
    "--reset",
    type=click.Choice(NAMES),
    multiple=True,
    help="Put this back to what holds otherwise; may be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON; times in seconds.")
@pass_app
def configure(
    app: App, /, kind: str | None, reset: tuple[str, ...], as_json: bool, **given: Any
) -> None:
    """
    Show or change the settings: of every kind, or of one.

    Without a setting it shows what holds. With KIND it is about that kind, which follows the
    defaults in all that it doesn't set itself. A TIME is such as '90 seconds' or '2 hours'. What
    has no value has no limit; --reset takes a limit away again.

    With --json an object with the settings, and without KIND also kinds, an array with the rules of
    each configured kind.
    """
    values = {name: value for name, value in given.items() if value is not None}
    if kind is not None:
        for name in ONLY_ALL & {*values, *reset}:
            raise click.UsageError(f"{name} holds for every kind; leave {kind!r} out")
    with app.connect() as conn:
        for name in values.keys() & SPANS.keys():
            values[name] = span_of(conn, values[name], f"--{name.replace('_', '-')}")
        if values or reset:
            if kind is None:
                sql.configure(conn, **values, reset=list(reset) or None)
            else:
                sql.configure_kind(conn, kind, **values, reset=list(reset) or None)
        _show(conn, kind, as_json=as_json)


def _show(conn: Connection[Any], kind: str | None, *, as_json: bool) -> None:
    settings = sql.configuration(conn)
    kinds = sql.list_kinds(conn)
    rules: Configuration | KindRules = settings
    if kind is not None:
        defaults: dict[str, Any] = {
            field.name: getattr(settings, field.name, kind)
            for field in dataclasses.fields(KindRules)
        }
        rules = next((one for one in kinds if one.kind == kind), KindRules(**defaults))
    if as_json:
        values = {field.name: getattr(rules, field.name) for field in dataclasses.fields(rules)}
        print_json(values if kind is not None else values | {"kinds": kinds})
        return
    names = [field.name for field in dataclasses.fields(rules) if field.name != "kind"]
    if kind is not None:
        print_table(
            (Column("SETTING"), Column(kind, least=8), Column("DEFAULT", drop=1)),
            [[name, _words(getattr(rules, name)), _words(getattr(settings, name))]
             for name in names],
        )  # fmt: skip
        return
    # A column per kind that says something of its own, where there is room for it.
    columns = [Column("SETTING"), Column("DEFAULT")]
    columns += [Column(one.kind, least=8, drop=place) for place, one in enumerate(kinds, 1)]
    print_table(
        columns,
        [[name, *(_words(getattr(one, name, "")) for one in (settings, *kinds))]
         for name in names],
    )  # fmt: skip


def _words(value: object) -> str:
    match value:
        case None:
            return "-"
        case timedelta():
            return span(value.total_seconds())
        case _:
            return str(value)
