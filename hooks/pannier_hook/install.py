"""Finishes the hook in an image of somebody's own: RUN PYTHON -IS …/pannier_hook/install.py

Run by root, by the Python that is to run the hook. Fits the programs' first lines and the compiled
modules to that Python, finds the client's program, makes the places where mounts go, and says what
it did. Ends with 1 when the hook would not work.
"""

from __future__ import annotations

import os
import sys

_TOO_SMALL = (
    f"{sys.executable} lacks a part of the standard library (%s); "
    "of Debian's packages it takes python3, not python3-minimal"
)
try:
    import compileall
    import glob
    import importlib
    import json
    import py_compile
    import re
    import shutil
    import subprocess
except ImportError as missing:
    sys.exit(f"pannier-hook: {_TOO_SMALL % missing}")

HERE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
RECORD = "baked.json"
STARTERS = "starters"
OLDEST = (3, 9)

AGENT = "/workspace/agent"
CLOSED = (
    f"{AGENT}/agent-memory",
    f"{AGENT}/conversations",
    "/workspace/extra",
    "/run/pannier/instructions",
    "/usr/share/pannier/skel",
)
OPEN = (
    "/home/agent",
    f"{AGENT}/memory",
    f"{AGENT}/files",
    "/run/pannier/spool",
    "/run/pannier/inbox",
)
"""For any uid, as long as nothing is mounted there."""
ACCOUNTS = "/var/lib/extrausers"

_PYTHON = re.compile(rb"#!\S*/python3 -IS\n")
_LONGEST_FIRST_LINE = 127  # Linux before 5.1 cuts it there
_PLACE = re.compile(r"(/opt/\w[\w.-]*)/((?:[\w.@-]+/)*[\w.-]+)")
_PACKAGE = re.compile(r"lib/node_modules/(?:@[^/]+/)?[^/]+")


def main() -> int:
    """Do all of it; the exit status."""
    try:
        _check_python()
        with open(f"{HERE}/{RECORD}", encoding="utf-8") as file:
            record = json.load(file)
        _clear(record["files"])
        _import_all()
        _set_modes(record["files"])
        _make_places()
        names = _name_users()
        starters = [_starter(one.path) for one in _programs(STARTERS)]
        for folder in ("bin", STARTERS):
            for one in _programs(folder):
                _fit(one.path)
        _compile()
    except (OSError, ValueError, RuntimeError) as problem:
        print(f"pannier-hook: {problem}", file=sys.stderr)
        return 1
    print(f"pannier-hook {record['version']} for {record['client']}, run by {sys.executable}")
    for line in (*starters, names):
        print(line)
    return 0


def _check_python() -> None:
    version = "%d.%d" % sys.version_info[:2]
    if sys.version_info < OLDEST:
        raise RuntimeError(f"{sys.executable} is Python {version}, and the hook needs 3.9 or newer")
    if len(sys.executable) + 6 > _LONGEST_FIRST_LINE or " " in sys.executable:
        raise RuntimeError(f"{sys.executable} cannot stand in a script's first line")
    if os.getuid() != 0:
        raise RuntimeError("installed by root only: put USER root above this line")


def _clear(paths: list[str]) -> None:
    """Remove what an earlier hook left in the package: its compiled modules, which Python would
    take for those of the new sources, and modules that are no more."""
    package = f"{HERE}/pannier_hook"
    shutil.rmtree(f"{package}/__pycache__", ignore_errors=True)
    named = {f"/{path}" for path in paths}
    for name in os.listdir(package):
        if name.endswith(".py") and f"{package}/{name}" not in named:
            os.unlink(f"{package}/{name}")


def _import_all() -> None:
    sys.path.insert(0, HERE)
    for name in sorted(os.listdir(f"{HERE}/pannier_hook")):
        stem, ending = os.path.splitext(name)
        if ending == ".py" and stem != "install":
            try:
                importlib.import_module(f"pannier_hook.{stem}")
            except ImportError as problem:
                if (problem.name or "").partition(".")[0] == "pannier_hook":
                    what = f"{HERE} is not whole: {problem}; bake again"
                    raise RuntimeError(what) from None
                raise RuntimeError(_TOO_SMALL % problem) from None


def _set_modes(paths: list[str]) -> None:
    """Whatever the umask was where these files were written: everybody reads, root alone writes.

    A client may ignore settings in a folder that others can write.
    """
    there = [f"/{path}" for path in paths if os.path.lexists(f"/{path}")]
    for path in there:
        if not os.path.islink(path):
            with open(path, "rb") as file:
                program = file.read(2) == b"#!"
            os.chmod(path, 0o755 if program else 0o644)
        os.chown(path, 0, 0, follow_symlinks=False)
    folders = {os.path.dirname(path) for path in there}
    while folders - {"/"}:
        for folder in folders - {"/"}:
            mode = os.stat(folder).st_mode & 0o7777
            # COPY gives also folders that were there before the modes of the build context.
            os.chmod(folder, (mode | 0o755) & ~0o022)
        folders = {os.path.dirname(folder) for folder in folders}


def _make_places() -> None:
    for folder in CLOSED:
        os.makedirs(folder, mode=0o755, exist_ok=True)
    for folder in OPEN:
        os.makedirs(folder, mode=0o755, exist_ok=True)
        os.chmod(folder, 0o1777)


def _name_users() -> str:
    """Let `boot` name a user that only the host knows, where the C library can look there."""
    if not any(glob.glob(f"/{lib}/*/libnss_extrausers.so.2") for lib in ("lib", "usr/lib")):
        return "without libnss-extrausers a uid that /etc/passwd lacks has no name in here"
    os.makedirs(ACCOUNTS, exist_ok=True)
    os.chmod(ACCOUNTS, 0o1777)
    path = "/etc/nsswitch.conf"
    with open(path, encoding="utf-8") as file:
        text = file.read()
    new = re.sub(r"(?m)^((?:passwd|group):(?!.*\bextrausers\b).*)$", r"\1 extrausers", text)
    if new != text:
        _write(path, new.encode("utf-8"))
    return "a uid that /etc/passwd lacks gets the name agentUID in here"


def _programs(folder: str) -> list[os.DirEntry[str]]:
    try:
        return sorted(os.scandir(f"{HERE}/{folder}"), key=lambda one: one.name)
    except FileNotFoundError:
        return []


def _starter(path: str) -> str:
    """See that the client's program is where its starter looks for it; a line about that."""
    name = os.path.basename(path)
    with open(path, encoding="utf-8") as file:
        places = sorted(set(_PLACE.findall(file.read())))
    for root, below in places:
        if not os.path.exists(f"{root}/{below}") and not _link(root, below, name):
            os.unlink(path)
            return (
                f"no {name} on the PATH yet, so it is started without pannier's starter; "
                "to have that, install it above this line"
            )
    return f"{name} is started by {path}"


def _link(root: str, below: str, client: str) -> bool:
    """A program is what the PATH has of its name; a package of npm's is the client's own."""
    package = _PACKAGE.match(below)
    found = _on_path(client if package else os.path.basename(below))
    if package is None:
        at, target = f"{root}/{below}", found
    else:
        before, slash, _ = os.path.realpath(found).partition(f"/{package[0]}/")
        at, target = f"{root}/{package[0]}", f"{before}/{package[0]}" if slash else ""
    if not target:
        return False
    os.makedirs(os.path.dirname(at), exist_ok=True)
    os.symlink(target, at)
    return os.path.exists(f"{root}/{below}")


def _on_path(name: str) -> str:
    path = os.environ.get("PATH", os.defpath).split(":")
    others = [folder for folder in path if folder != f"{HERE}/{STARTERS}"]
    return shutil.which(name, path=":".join(others)) or ""


def _fit(path: str) -> None:
    with open(path, "rb") as file:
        text = file.read()
    new = _PYTHON.sub(b"#!%s -IS\n" % os.fsencode(sys.executable), text, count=1)
    if new != text and _PYTHON.match(text):
        _write(path, new)


def _write(path: str, content: bytes) -> None:
    mode = os.stat(path).st_mode & 0o777
    with open(f"{path}.pannier-new", "wb") as file:
        file.write(content)
    os.chmod(f"{path}.pannier-new", mode)
    os.replace(f"{path}.pannier-new", path)


def _compile() -> None:
    """Unchecked: nobody changes these sources, and a look at them at each start would cost time."""
    done = compileall.compile_dir(
        f"{HERE}/pannier_hook",
        quiet=1,
        force=True,
        invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH,
    )
    hook = [f"{HERE}/bin/pannier-hook", "--version"]
    ran = subprocess.run(hook, check=False, stdout=subprocess.PIPE)
    if not done or ran.returncode != 0 or not ran.stdout:
        raise RuntimeError("the hook does not run here")


if __name__ == "__main__":
    sys.exit(main())
