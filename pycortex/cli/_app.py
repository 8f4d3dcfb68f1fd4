"""The frame of every command: the group, its options, connections, errors, exit codes."""

import contextlib
import importlib.metadata
import os
import signal
import sys
import threading
import traceback
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click
import psycopg
from psycopg.conninfo import conninfo_to_dict
from psycopg.errors import Diagnostic

from pycortex._conninfo import redact, with_defaults
from pycortex._version import check_version
from pycortex.cli._errors import INTERRUPTED, REFUSED, explain
from pycortex.cli._help import argument_help, exit_codes, see_also
from pycortex.cli._output import clean, paint, prepare_streams, say
from pycortex.cli._reach import connect, look_for
from pycortex.database import URL_VARIABLE, Database, DatabaseUrlError, resolve

__all__ = ["App", "Command", "Group", "RootGroup", "pass_app", "version"]


@dataclass(slots=True)
class App:
    """What every command knows: which database, and how talkative to be."""

    url: str | None = None
    verbose: bool = False

    def resolve(self) -> Database:
        """Find out which database is meant; a usage error when its URL makes no sense."""
        try:
            return resolve(self.url)
        except DatabaseUrlError as error:
            text = f"{error}\nHint: {error.hint}" if error.hint else str(error)
            raise click.UsageError(text) from error

    @contextlib.contextmanager
    def database(self, *, any_schema: bool = False, patient: bool = False) -> Iterator[str]:
        """
        Keep the database at hand for the block; gives its conninfo.

        Args:
            any_schema: An embedded server without the schema stays so; else it gets it.
            patient: Don't look whether its host is there.

        Raises:
            psycopg.OperationalError: It isn't; known within a second.
        """
        database = self.resolve()
        if database.implied:
            say(f"using {database.label}")
        if database.is_new:
            say("setting up its server; this is needed once")
        with _terminated_like_interrupted(), database:
            name = click.get_current_context().command_path
            conninfo = with_defaults(database.conninfo, application_name=name)
            if database.folder is not None and not any_schema:
                self._set_up(conninfo)
            if not patient and not _has_limit(database.conninfo):
                look_for(conninfo)
            yield conninfo

    @contextlib.contextmanager
    def connect(self, *, any_schema: bool = False) -> Iterator[psycopg.Connection[Any]]:
        """
        Connect for the block, in autocommit; the server's warnings go to standard error.

        Args:
            any_schema: Don't look whether the schema is there and new enough.
        """
        with (
            self.database(any_schema=any_schema, patient=True) as conninfo,
            connect(conninfo, patient=_has_limit(self.resolve().conninfo)) as conn,
        ):
            conn.add_notice_handler(self._tell)
            if not any_schema:
                check_version(conn)
            yield conn

    def _set_up(self, conninfo: str) -> None:
        """Give an embedded database that has none its schema; nobody else is there to do it."""
        from pycortex.install import install  # few commands come to it, and it takes a while

        with psycopg.connect(conninfo, autocommit=True) as conn:
            if conn.execute("select to_regnamespace('cortex')").fetchone() == (None,):
                say("installing its schema; this is needed once")
                install(conn)

    def _tell(self, notice: Diagnostic) -> None:
        if self.verbose or notice.severity_nonlocalized == "WARNING":
            say(f"{(notice.severity or 'notice').lower()}: {clean(notice.message_primary or '')}")


def _has_limit(conninfo: str) -> bool:
    """Whether the user said how long to wait for a connection."""
    added = conninfo_to_dict(with_defaults(conninfo)).get("connect_timeout")
    return added is None or conninfo_to_dict(conninfo).get("connect_timeout") is not None


@contextlib.contextmanager
def _terminated_like_interrupted() -> Iterator[None]:
    """Let SIGTERM end the block as Ctrl-C does, so that what it holds is put away."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGTERM, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


pass_app = click.make_pass_decorator(App, ensure=True)


def _set_url(ctx: click.Context, _: click.Parameter, value: str | None) -> None:
    if value is not None:
        ctx.ensure_object(App).url = value


def _set_verbose(ctx: click.Context, _: click.Parameter, value: bool) -> None:
    if value:
        ctx.ensure_object(App).verbose = True


def _common_options(*, hidden: bool) -> list[click.Parameter]:
    return [
        click.Option(
            ["--database-url"],
            metavar="URL",
            expose_value=False,
            callback=_set_url,
            hidden=hidden,
            help="postgresql://…, 'host=… dbname=…', embedded: or embedded:///folder.  "
            f"[default: ${URL_VARIABLE}, else libpq's PG* variables, else embedded:]",
        ),
        click.Option(
            ["-v", "--verbose"],
            is_flag=True,
            expose_value=False,
            callback=_set_verbose,
            hidden=hidden,
            help="Say more; show tracebacks.",
        ),
    ]


COMMON = f"Every command also takes --database-url (else ${URL_VARIABLE}) and --verbose."


def path_of(ctx: click.Context) -> str:
    """The command's name without the program's: "report show"."""
    return ctx.command_path.partition(" ")[2]


class Command(click.Command):
    """A command with an example in its help, which takes the common options anywhere."""

    def __init__(self, *args: Any, example: str = "", **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.example = example
        self.params += _common_options(hidden=True)

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        path = path_of(ctx)
        arguments = [
            (param.make_metavar(ctx), argument_help(path, param.name or ""))
            for param in self.params
            if isinstance(param, click.Argument)
        ]
        if arguments:
            with formatter.section("Arguments"):
                formatter.write_dl(arguments)
        super().format_options(ctx, formatter)

    def format_epilog(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        super().format_epilog(ctx, formatter)
        path = path_of(ctx)
        formatter.write_paragraph()
        with formatter.indentation():
            formatter.write_text(COMMON)
        with formatter.section("Exit codes"):
            formatter.write_dl([(str(code), words) for code, words in exit_codes(path).items()])
        if self.example:
            with formatter.section("Example"):
                for line in self.example.splitlines():
                    formatter.write(f"{'':>{formatter.current_indent}}{line}\n")
        root = ctx.find_root().command
        known = root.commands if isinstance(root, click.Group) else {}
        others = [f"pycortex {name}" for name in see_also(path) if name in known]
        if others:
            with formatter.section("See also"):
                formatter.write_text(", ".join(others))


class Group(click.Group):
    """A group that shows its help when nothing is asked of it."""

    command_class = Command

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        kwargs["callback"] = click.pass_context(_help_when_alone)
        kwargs["invoke_without_command"] = True
        super().__init__(*args, **kwargs)


def _help_when_alone(ctx: click.Context) -> None:
    if ctx.invoked_subcommand is None:
        click.echo(ctx.get_help())


class RootGroup(Group):
    """The whole program: whatever happens inside becomes a sentence and an exit code."""

    group_class = Group
    sections: Mapping[str, Sequence[str]] = {}
    """The names of the commands under headings; those that stand in none come last."""
    aliases: Mapping[str, str] = {}
    """Second names, which no list shows."""

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Find a command, by its second name too."""
        return super().get_command(ctx, self.aliases.get(cmd_name, cmd_name))

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands under their headings."""
        sections = {title: list(names) for title, names in self.sections.items()}
        placed = {name for names in sections.values() for name in names}
        sections["Others"] = [name for name in self.list_commands(ctx) if name not in placed]
        room = formatter.width - 6 - max(map(len, self.commands), default=0)
        for title, names in sections.items():
            rows = [
                (name, self.commands[name].get_short_help_str(room))
                for name in names
                if name in self.commands and not self.commands[name].hidden
            ]
            if rows:
                with formatter.section(title):
                    formatter.write_dl(rows)

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """Name the commands in the order in which one meets them."""
        return list(self.commands)

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.params += _common_options(hidden=False)

    def main(self, *args: Any, **kwargs: Any) -> Any:
        prepare_streams()
        try:
            return super().main(*args, **kwargs)
        except OSError as error:  # of what click itself prints, such as a help text
            _silence()
            say(f"{paint('Error', 'error')}: {explain(error).message}")
            sys.exit(REFUSED)

    def invoke(self, ctx: click.Context) -> Any:
        app = ctx.ensure_object(App)
        try:
            return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except (KeyboardInterrupt, click.Abort):
            ctx.exit(INTERRUPTED)
        except BrokenPipeError:
            _silence()
            ctx.exit(0)
        except Exception as error:  # noqa: BLE001 - the last stop of every error
            report = explain(error)
            if isinstance(error, OSError):
                _silence()  # what a full disk did not take, it must not be offered again
            with contextlib.suppress(BrokenPipeError):
                if app.verbose:
                    say(redact("".join(traceback.format_exception(error)).rstrip()))
                    if isinstance(error, psycopg.Error) and error.sqlstate:
                        say(f"SQLSTATE {error.sqlstate}")
                say(f"{paint('Error', 'error')}: {clean(report.message)}")
                if report.hint:
                    say(f"Hint: {clean(report.hint)}")
            ctx.exit(report.code)


def _silence() -> None:
    """Nobody reads any more: let what is still buffered go nowhere instead of complaining."""
    with contextlib.suppress(OSError, ValueError, AttributeError):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)


def version() -> str:
    """The version of the installed package."""
    try:
        return importlib.metadata.version("pycortex-jobs")
    except importlib.metadata.PackageNotFoundError:
        return "unknown (not installed)"
