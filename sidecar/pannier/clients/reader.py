"""What bash reads before a command of an agent's, so that a reader keeps what that prints."""

from __future__ import annotations

from importlib.resources import files


def before_commands(client: str, note: str, *, forget: bool = False) -> str:
    """The file for `BASH_ENV` of the commands of this client, whose program has the same name.

    `note` is the environment's variable that names the call to its reader, once for each; the
    command does not see it, if it is to `forget` it.
    """
    text = (files("pannier.clients") / "command.bash").read_text(encoding="utf-8")
    text = text.replace("@PARENT@", client).replace("@NOTE@", note)
    return text.replace("@FORGET@", f" {note}" if forget else "")
