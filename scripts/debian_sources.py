#!/usr/bin/env python3
"""Derive apt sources for a Debian release from the machine's own apt sources.

    debian_sources.py sources SUITE   a deb822 file: the release SUITE, its updates, its security
    debian_sources.py mirror SUITE    the archive that holds SUITE itself, for debootstrap

No archive is named here: whoever looks after the machine has already said where Debian is to be
fetched from, and that place holds the neighbouring releases too. Both of apt's formats are read
(sources.list(5)), and the `mirror+file:` lists of Debian's cloud images. Python >= 3.9, standard
library only: it runs before anything is installed.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

KEYRING = "/usr/share/keyrings/debian-archive-keyring.gpg"
POCKETS = ("", "-updates", "-security")
ROLLING = ("stable", "oldstable", "testing")


class SourcesError(Exception):
    """The machine's sources cannot be used; the message says why."""


@dataclass(frozen=True)
class Source:
    """One archive and one suite of it, e.g. `bookworm-security`."""

    uri: str
    suite: str
    components: tuple[str, ...]


def parse_one_line(text: str) -> Iterator[Source]:
    """Read the one-line format: `deb [options] uri suite component…`."""
    for line in text.splitlines():
        words = re.sub(r"\[[^\]]*\]", " ", line.split("#", 1)[0]).split()
        if len(words) >= 4 and words[0] == "deb":
            yield Source(words[1], words[2], tuple(words[3:]))


def parse_deb822(text: str) -> Iterator[Source]:
    """Read the deb822 format: stanzas of `Key: values`, continued by indented lines."""
    for stanza in re.split(r"\n[ \t]*\n", text):
        fields = _fields(stanza)
        if "deb" not in fields.get("types", ()) or fields.get("enabled") in (["no"], ["false"]):
            continue
        for uri in fields.get("uris", ()):
            for suite in fields.get("suites", ()):
                yield Source(uri, suite, tuple(fields.get("components", ())))


def _fields(stanza: str) -> dict[str, list[str]]:
    fields: dict[str, list[str]] = {}
    key = ""
    for line in stanza.splitlines():
        if line.startswith("#"):
            continue
        if line[:1] in (" ", "\t"):
            fields.setdefault(key, []).extend(line.split())
        elif ":" in line:
            name, _, value = line.partition(":")
            key = name.strip().lower()
            fields[key] = value.split()
    return fields


def machine_sources(etc: Path = Path("/etc/apt")) -> list[Source]:
    """Every source that this machine's apt would use, in apt's order."""
    found: list[Source] = []
    parts = sorted((etc / "sources.list.d").glob("*"))
    for path in [etc / "sources.list", *(p for p in parts if p.suffix in (".list", ".sources"))]:
        if path.is_file():
            parse = parse_deb822 if path.suffix == ".sources" else parse_one_line
            found.extend(parse(path.read_text(encoding="utf-8", errors="replace")))
    return found


def resolve(uri: str) -> str:
    """Follow `mirror+file:` to the first archive of its list; other URIs stay as they are."""
    match = re.fullmatch(r"mirror\+file:(?://)?(/.+)", uri)
    if not match:
        return uri
    lines = Path(match[1]).read_text(encoding="utf-8").splitlines()
    named = [line.split()[0] for line in lines if line.strip() and not line.startswith("#")]
    if not named:
        raise SourcesError(f"{match[1]} names no archive")
    return named[0]


def derive(sources: Iterable[Source], codename: str, suite: str) -> list[Source]:
    """The sources of release `suite`, where the machine runs release `codename`.

    Raises SourcesError when the archive of the release itself is not among them.
    """
    derived: dict[str, Source] = {}
    for source in sources:
        pocket = _pocket(source.suite, codename)
        if pocket is None or "main" not in source.components:
            continue
        uri = resolve(source.uri)
        if uri.startswith(("http:", "https:")):
            derived.setdefault(pocket, Source(uri.rstrip("/"), suite + pocket, ("main",)))
    if "" not in derived:
        raise SourcesError(f"no http source of Debian {codename} main in /etc/apt/sources.list.d")
    return [derived[pocket] for pocket in POCKETS if pocket in derived]


def _pocket(suite: str, codename: str) -> str | None:
    for base in (codename, *ROLLING):
        if suite.startswith(base) and suite[len(base) :] in POCKETS:
            return suite[len(base) :]
    return None


def render(sources: Iterable[Source]) -> str:
    """A deb822 file for apt, trusting Debian's own keys."""
    return "\n".join(
        f"Types: deb\nURIs: {source.uri}\nSuites: {source.suite}\n"
        f"Components: {' '.join(source.components)}\nSigned-By: {KEYRING}\n"
        for source in sources
    )


def os_release(path: Path = Path("/etc/os-release")) -> dict[str, str]:
    """The machine's name for itself, os-release(5)."""
    lines = path.read_text(encoding="utf-8").splitlines()
    pairs = (line.split("=", 1) for line in lines if "=" in line and not line.startswith("#"))
    return {key: value.strip("\"'") for key, value in pairs}


def main(arguments: list[str]) -> int:
    if len(arguments) != 2 or arguments[0] not in ("sources", "mirror"):
        print("usage: debian_sources.py sources|mirror SUITE", file=sys.stderr)
        return 2
    try:
        release = os_release()
        if release.get("ID") != "debian":
            raise SourcesError(f"{release.get('NAME', 'this system')} has no archive of Debian's")
        derived = derive(machine_sources(), release.get("VERSION_CODENAME", ""), arguments[1])
    except (SourcesError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(derived[0].uri if arguments[0] == "mirror" else render(derived))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
