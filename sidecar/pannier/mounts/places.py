"""Places that are never a source, whatever the allowlist says, and why. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from pannier.database import VARIABLES, database_file
from pannier.paths import Home, allowlist_file, config_dir, person_home


@dataclass(frozen=True)
class Place:
    """Neither this path, nor what lies below it, nor a folder that holds it is ever a source."""

    path: Path
    what: str
    below: bool = True
    """Whether what lies below it is refused too."""


_SYSTEM = {
    "a part of the system": (
        "/proc /sys /dev /etc /run /var/run /boot /bin /sbin /lib /lib32 /lib64 /usr/bin /usr/sbin "
        "/usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local/bin /usr/local/sbin /usr/local/lib "
        "/usr/local/etc /var/spool/cron /var/spool/at /System /Library/LaunchAgents "
        "/Library/LaunchDaemons"
    ),
    "the engine's": (
        "/var/lib/docker /var/lib/containerd /var/lib/containers "
        "/var/run/docker.sock /run/docker.sock /run/podman/podman.sock"
    ),
}

# Below the person's home. From all of these the host starts things, or learns what to start.
_PERSON = {
    "programs that the host runs": (
        "bin .local/bin .local/lib .cargo .rustup go/bin .pyenv .rbenv .nvm .volta .asdf .sdkman "
        ".deno .bun .npm-global .linuxbrew .oh-my-zsh .local/share/mise .local/share/uv "
        ".local/share/pipx .local/share/applications .local/share/dbus-1"
    ),
    "a start-up file of the shell": (
        ".profile .bashrc .bash_profile .bash_login .bash_logout .bash_aliases .zshrc .zshenv "
        ".zprofile .zlogin .zlogout .kshrc .mkshrc .cshrc .tcshrc .login .logout .inputrc .xinitrc "
        ".xprofile .xsession .xsessionrc .pam_environment .config/fish .config/environment.d "
        ".config/zsh .config/nushell .config/direnv"
    ),
    "started with the session": (
        ".config/autostart .config/systemd .local/share/systemd .config/plasma-workspace "
        ".config/autostart-scripts Library/LaunchAgents .crontab .ssh"
    ),
    "a configuration that names programs to run": (
        ".gitconfig .config/git .git-templates .gdbinit .lldbinit .pythonrc .pythonstartup "
        ".vimrc .vim .gvimrc .config/nvim .emacs .emacs.d .config/emacs .tmux.conf .config/tmux "
        ".screenrc .vscode .vscode-server .config/Code .cursor .config/Cursor .config/zed "
        ".npmrc .config/pip .config/containers .docker .gnupg .kube "
        "'Library/Application Support/Code'"
    ),
    "the configuration of an agent on the host": (
        ".claude .claude.json .codex .gemini .qwen .copilot .config/opencode"
    ),
    "the engine's": (
        ".local/share/docker .local/share/containers .docker/run/docker.sock "
        ".docker/desktop/docker.sock .colima .orbstack .rd .lima"
    ),
}

ROOT = Place(Path("/"), "the root of the file system", below=False)


def of_system() -> tuple[Place, ...]:
    """The same on every host."""
    listed = (Place(Path(p), what) for what, paths in _SYSTEM.items() for p in paths.split())
    return (ROOT, *listed)


def of_person(environ: Mapping[str, str]) -> tuple[Place, ...]:
    """Below the person's home, and below XDG_CONFIG_HOME where that is set."""
    home = person_home(environ)
    config = config_dir(environ).parent
    found = []
    for what, paths in _PERSON.items():
        for path in shlex.split(paths):
            found.append(Place(home / path, what))
            if path.startswith(".config/") and config != home / ".config":
                found.append(Place(config / path.removeprefix(".config/"), what))
    return tuple(found)


def of_path(environ: Mapping[str, str]) -> tuple[Place, ...]:
    """The folders of PATH, but those of a project's own tools.

    The active virtual environment and `node_modules/.bin` are in PATH only while somebody works on
    that project: a refusal would come and go with the terminal.
    """
    home = person_home(environ)
    active = environ.get("VIRTUAL_ENV") or "/dev/null"
    folders = (Path(name) for name in environ.get("PATH", "").split(":") if name.startswith("/"))
    return tuple(
        Place(folder, "in your PATH")
        for folder in folders
        if not folder.is_relative_to(active)
        and "node_modules" not in folder.parts
        and not home.is_relative_to(folder)
    )


def of_engine(environ: Mapping[str, str]) -> tuple[Place, ...]:
    """The sockets that DOCKER_HOST and a rootless engine use."""
    what = "the engine's socket"
    found = []
    for name in ("DOCKER_HOST", "CONTAINER_HOST"):
        scheme, _, socket = environ.get(name, "").partition("://")
        if scheme == "unix":
            found.append(Place(Path("/", socket), what))
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    if runtime.startswith("/"):
        found.append(Place(Path(runtime), "the folder of your session's sockets"))
    return tuple(found)


def of_pannier(
    home: Home | None, environ: Mapping[str, str], program: Iterable[Path]
) -> tuple[Place, ...]:
    """The home with all groups, the configuration, and the folders of the running program."""
    configuration = "pannier's configuration"
    found = [
        Place(config_dir(environ), configuration),
        Place(allowlist_file(environ), configuration),
        *(Place(path, "the program that runs pannier") for path in program),
    ]
    if home is not None:
        found += [Place(home.root, "the pannier home"), Place(home.state, "pannier's state")]
        found += [Place(home.groups, "the groups of pannier")]
        databases = (database_file(home, environ, name) for name in VARIABLES)
        found += [Place(path, "a database of pannier") for path in databases]
        found += [Place(group.root, "the folder of a group") for group in home.all_groups()]
    return tuple(found)
