"""Blocked names: what a mount must not hold. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from fnmatch import translate
from functools import cache, cached_property

# Matched against one whole component of a path, whatever its case: `.env` does not hit `.envrc`.
# After NanoClaw's list, without names that source code uses for its own folders (`credentials`).
BLOCKED = (
    ".ssh",
    ".gnupg",
    ".gpg",
    ".aws",
    ".azure",
    ".gcloud",
    ".kube",
    ".docker",
    ".oci",
    ".terraform.d",
    ".terraformrc",
    ".vault-token",
    ".boto",
    ".s3cfg",
    ".netrc",
    "_netrc",
    ".npmrc",
    ".yarnrc",
    ".pypirc",
    ".git-credentials",
    ".pgpass",
    ".my.cnf",
    ".htpasswd",
    ".credentials",
    ".credentials.json",
    "application_default_credentials.json",
    ".password-store",
    "*.kdbx",
    "*.ppk",
    ".env",
    ".env.*",
    ".secret",
    ".secrets",
    "private_key",
    "id_rsa",
    "id_dsa",
    "id_ecdsa",
    "id_ecdsa_sk",
    "id_ed25519",
    "id_ed25519_sk",
)

# Written to be published.
INNOCENT = (".env.example", ".env.sample", ".env.template", ".env.dist", ".env.defaults")


@dataclass(frozen=True)
class Blocked:
    """The built-in names and a person's own patterns (shell wildcards `*`, `?`, `[…]`)."""

    extra: tuple[str, ...] = ()

    def hits(self, name: str) -> bool:
        """Whether one component of a path has a blocked name."""
        folded = name.casefold()
        if self._extra.match(folded):
            return True
        return folded not in INNOCENT and _BUILT_IN.match(folded) is not None

    def pattern(self, name: str) -> str | None:
        """The pattern that blocks a name; None if it is not blocked."""
        if not self.hits(name):
            return None
        return next(p for p in (*self.extra, *BLOCKED) if matches(name, (p,)))

    @cached_property
    def _extra(self) -> re.Pattern[str]:
        return _any_of(self.extra)


def matches(name: str, patterns: Iterable[str]) -> bool:
    """Whether a name is one of the patterns, or fits one. Case does not count."""
    return _any_of(tuple(patterns)).match(name.casefold()) is not None


@cache
def _any_of(patterns: tuple[str, ...]) -> re.Pattern[str]:
    """One expression for all: it is asked once for each of 200,000 names."""
    folded = [pattern.casefold() for pattern in patterns]
    either = [translate(p) for p in folded] + [re.escape(p) + r"\Z" for p in folded]
    return re.compile("|".join(either) or r"(?!)")


_BUILT_IN = _any_of(BLOCKED)
