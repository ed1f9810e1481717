"""The rules of the allowlist once more, as plainly as they can be said, to compare with.

It knows nothing of the package: it reads the same files, asks the same disk, and works on text.
"""

# Paths are text here, to be another way than the package goes.
# ruff: noqa: PTH112, PTH114, PTH115, PTH118, PTH119, PTH120, PTH208

from __future__ import annotations

import fnmatch
import os
import shutil
from pathlib import Path
from typing import Any

import yaml

GROUPS = ("one", "two")
BLOCKED = (".ssh", ".env", ".env.*", "secret-*")
PASSES = (".env.example",)


class Model:
    """One person's folder `person`, with the home `person/agents` and its two groups."""

    def __init__(self, person: Path, limit: int) -> None:
        self.person = str(person)
        self.limit = limit
        config = person / ".config/pannier/mounts.yaml"
        data = yaml.safe_load(config.read_text()) if config.exists() else {}
        self.entries = [{**e, "real": self.real(e["path"])} for e in data.get("allow", [])]
        self.asks = {
            group: yaml.safe_load((person / "agents/groups" / group / "group.yaml").read_text())[
                "mounts"
            ]
            for group in GROUPS
        }

    def broken_rules(self, group: str, number: int) -> set[str]:
        """What speaks against a request; it is granted if nothing does."""
        ask = self.asks[group][number]
        found = self.about_target(group, number)
        real = self.real(ask["source"])
        if not os.path.isdir(real):
            found.add("no folder")
        if self.never(real):
            found.add("never")
        entry = self.deciding(real)
        own = [real] if ask["mode"] == "rw" else []
        ways = self.passed(self.absolute(ask["source"]))
        if entry:
            ways |= self.passed(self.absolute(entry["path"]))
        if any(way.startswith(f"{top}/") for way in ways for top in (*self.writable(), *own)):
            found.add("swap")
        return found or self.about_grant(group, ask, real, entry or {})

    def about_target(self, group: str, number: int) -> set[str]:
        target = self.asks[group][number]["target"]
        if not self.good(target):
            return {"target"}
        for i, other in enumerate(a["target"] for a in self.asks[group]):
            a, b = f"{target}/", f"{other}/"
            if i != number and self.good(other) and (a.startswith(b) or b.startswith(a)):
                return {"target"}
        return set()

    def about_grant(
        self, group: str, ask: dict[str, Any], real: str, entry: dict[str, Any]
    ) -> set[str]:
        found = set()
        if not entry:
            found.add("allow")
        if group not in (entry.get("groups") or GROUPS):
            found.add("groups")
        writes = ask["mode"] == "rw"
        if writes and entry and entry.get("mode", "ro") != "rw":
            found.add("mode")
        below = self.below(real, deep=entry.get("scan", True))
        if len(below) > self.limit and entry.get("scan", True):
            found.add("too many")
            return found  # what was seen of the names depends on how far the look went
        names = {os.path.basename(p) for p in below} | set(real.split("/"))
        if any(self.blocked(n) and n not in entry.get("except", []) for n in names):
            found.add("names")
        if writes and not entry.get("git") and self.git(real, below):
            found.add("git")
        return found

    def never(self, real: str) -> bool:
        places = [f"{self.person}/{p}" for p in ("agents", "bin", ".ssh", ".config/pannier")]
        for place in [*places, *map(os.path.realpath, places)]:
            if f"{real}/".startswith(f"{place}/") or f"{place}/".startswith(f"{real}/"):
                return True
        return False

    def writable(self) -> set[str]:
        found = set()
        for group, asks in self.asks.items():
            for ask in asks:
                real = self.real(ask["source"])
                entry = self.deciding(real) or {}
                grants = group in (entry.get("groups") or GROUPS) and entry.get("mode") == "rw"
                if ask["mode"] == "rw" and grants and not self.never(real):
                    found.add(real)
        return found

    def deciding(self, real: str) -> dict[str, Any] | None:
        longest = None
        for entry in self.entries:
            if not f"{real}/".startswith(f"{entry['real']}/"):
                continue
            if longest is None or len(entry["real"]) > len(longest["real"]):
                longest = entry
        return longest

    def below(self, real: str, *, deep: bool) -> list[str]:
        found = []
        for folder, folders, files in os.walk(real):
            found += [os.path.join(folder, name) for name in (*folders, *files)]
            if not deep:
                break
        return found

    def git(self, real: str, below: list[str]) -> bool:
        if any(os.path.basename(p) == ".git" for p in (*below, *self.above(real))):
            return True
        marks = {os.path.dirname(p) for p in below if os.path.basename(p) == "HEAD"}
        in_sight = [f for f in marks if {f"{f}/objects", f"{f}/refs"} <= set(below)]
        around = [f for f in self.above(real) if {"HEAD", "objects", "refs"} <= set(os.listdir(f))]
        return bool(in_sight or around)

    def above(self, real: str) -> list[str]:
        parts = real.split("/")
        return ["/".join(parts[:n]) or "/" for n in range(1, len(parts) + 1)]

    def passed(self, path: str) -> set[str]:
        found: set[str] = set()
        parent, name = os.path.split(path)
        if not name:
            return self.passed(parent) if parent != "/" else set()
        found |= self.passed(parent) if parent != "/" else set()
        if name == "..":
            return found
        step = os.path.join(os.path.realpath(parent), name)
        found.add(step)
        if os.path.islink(step):
            found |= self.passed(os.path.join(os.path.dirname(step), os.readlink(step)))
        return found

    def absolute(self, path: str) -> str:
        return self.person + path[1:] if path.startswith("~") else path

    def real(self, path: str) -> str:
        return os.path.realpath(self.absolute(path))

    @staticmethod
    def good(target: str) -> bool:
        return ":" not in target and not {"", ".", ".."} & set(target.split("/"))

    @staticmethod
    def blocked(name: str) -> bool:
        return name not in PASSES and any(fnmatch.fnmatchcase(name, p) for p in BLOCKED)


def clear(person: Path) -> None:
    """An empty person's folder."""
    shutil.rmtree(person, ignore_errors=True)
    (person / ".config").mkdir(parents=True)
