"""completion: what a shell needs to complete commands, jobs and kinds."""

import click
from click.shell_completion import BashComplete, FishComplete, ShellComplete, ZshComplete

from pycortex.cli._app import Command
from pycortex.cli._output import out

__all__ = ["VARIABLE", "completion"]

VARIABLE = "_PYCORTEX_COMPLETE"
"""How click wants the shell to ask."""
SHELLS: dict[str, type[ShellComplete]] = {
    "bash": BashComplete,
    "zsh": ZshComplete,
    "fish": FishComplete,
}


@click.command(cls=Command, example="pycortex completion bash")
@click.argument("shell", type=click.Choice(list(SHELLS)))
def completion(shell: str) -> None:
    """
    Print a script that completes words in a shell.

    Options and their choices come from the program; uuids of jobs and runners and names of kinds
    from the database that the command line or the environment names. A database that is away, or
    doesn't answer within a second, only means that nothing is offered; an embedded server is not
    started for it.

    \b
    To have it in every session:
      bash  add  eval "$(pycortex completion bash)"  to ~/.bashrc
      zsh   add  eval "$(pycortex completion zsh)"   to ~/.zshrc, behind compinit
      fish  pycortex completion fish > ~/.config/fish/completions/pycortex.fish
    """
    class_ = SHELLS[shell]
    script = class_(click.get_current_context().find_root().command, {}, "pycortex", VARIABLE)
    out((script.source_template % script.source_vars()).strip("\n"))
