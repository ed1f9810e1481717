"""Secrets in text: where they are, and the text without them. Pure; looks nothing up anywhere.

The formats of vendors are those of detect-secrets, and ours for what it lacks. Only its patterns
are used: its scanner would ask the vendor whether what it found is valid. Not used are its guesses
about quoted words and its public IP addresses, which in notes are wrong more often than right.

An agent brings texts of any size and form here, so whatever is looked for takes time in proportion
to the text. A pattern may have no two unbounded pieces side by side, and none unbounded in which
it could begin anew after it failed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import lru_cache


@dataclass(frozen=True, order=True)
class Secret:
    """Where in a text a likely secret is, in code points, and of what kind; not what it says."""

    start: int
    end: int
    kind: str


def find(text: str) -> tuple[Secret, ...]:
    """The likely secrets in `text`, in order; none overlaps another."""
    found = [*_private_keys(text), *_named(text), *_cards(text)]
    for kind, pattern in _formats():
        found += (_at(match, kind) for match in pattern.finditer(text))
    return _merged(found)


def mask(text: str) -> str:
    """The text with each likely secret replaced by its kind: `[api key removed]`."""
    pieces, end = [], 0
    for secret in find(text):
        pieces += [text[end : secret.start], f"[{secret.kind} removed]"]
        end = secret.end
    return "".join((*pieces, text[end:]))


def _at(match: re.Match[str], kind: str) -> Secret:
    return Secret(*match.span("value" if "value" in match.re.groupindex else 0), kind)


def _merged(found: Iterable[Secret]) -> tuple[Secret, ...]:
    merged: list[Secret] = []
    for secret in sorted(found, key=lambda s: (s.start, -s.end, s.kind)):
        if merged and secret.start < merged[-1].end:
            last = merged[-1]
            merged[-1] = Secret(last.start, max(last.end, secret.end), last.kind)
        else:
            merged.append(secret)
    return tuple(merged)


# ------------------------------------------------------------------------------- by their format

_OURS = {
    "Anthropic key": r"sk-ant-[\w-]{16,}",
    "API key": r"(?<![\w-])sk-(?!ant-)(?=[\w-]{0,60}[A-Za-z0-9]{16})(?=[\w-]{0,60}\d)[\w-]{20,}",
    "AWS key": r"(?i:secret_?access_?key)\W{1,6}(?P<value>[\w/+]{40})(?![\w/+])",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Docker token": r"\bdckr_[po]at_[\w-]{20,}",
    "GitHub token": r"\bgithub_pat_\w{22,}",
    "Google key": r"\bAIza[\w-]{35}",
    "Google client secret": r"\bGOCSPX-[\w-]{20,}",
    "Google token": r"\bya29\.[\w-]{20,}",
    "Grafana token": r"\bgl(?:sa|c)_[\w=+/]{32,}",
    "Groq key": r"\bgsk_[A-Za-z0-9]{40,}",
    "Hugging Face token": r"\bhf_[A-Za-z0-9]{30,}",
    "JSON web token": r"(?<![\w-])eyJ[\w-]{8,}\.eyJ[\w-]{4,}(?:\.[\w-]*)*",
    "Linear key": r"\blin_(?:api|oauth)_[A-Za-z0-9]{32,}",
    "Notion token": r"\b(?:ntn_|secret_)[A-Za-z0-9]{40,}",
    "npm login": r"/:_authToken=\s{0,2}(?P<value>npm_[^\s\"']{1,400}|[A-Fa-f0-9-]{36})",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{40,}",
    "Replicate token": r"\br8_[A-Za-z0-9]{37}",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Slack token": r"\bxapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{32,}",
    "Stripe key": r"\b(?:[rs]k_test_|whsec_)[A-Za-z0-9]{24,}",
    "Tailscale key": r"\btskey-[a-z]+-[\w-]{16,}",
    "Vault token": r"\bhv[sbr]\.[\w-]{24,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{60,}",
    "age key": r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,}",
    "bearer token": r"\b[Bb]earer\s{1,3}(?P<value>(?=[\w.~+/-]{0,40}\d)[\w.~+/-]{20,}={0,2})",
}

_NOT_THEIRS = frozenset(
    {"ArtifactoryDetector", "IPPublicDetector", "JwtTokenDetector", "NpmDetector", "OpenAIDetector"}
)
"""Capital words look like the first, addresses are no secrets, and the others are better here."""


@lru_cache(maxsize=1)
def _formats() -> tuple[tuple[str, re.Pattern[str]], ...]:
    """Kind and pattern; more than half a second to import, so only when there is text."""
    from detect_secrets.core.plugins.util import (  # noqa: PLC0415
        get_mapping_from_secret_type_to_class,
    )
    from detect_secrets.plugins.base import RegexBasedDetector  # noqa: PLC0415

    formats = [(kind, re.compile(pattern)) for kind, pattern in _OURS.items()]
    theirs: Mapping[str, type[object]] = get_mapping_from_secret_type_to_class()
    for kind, detector in theirs.items():
        if issubclass(detector, RegexBasedDetector) and detector.__name__ not in _NOT_THEIRS:
            formats += ((kind, _bounded(pattern)) for pattern in detector().denylist)
    return tuple(formats)


def _bounded(pattern: re.Pattern[str]) -> re.Pattern[str]:
    """Some of theirs have three runs of spaces side by side, which takes cubic time."""
    bounded = pattern.pattern.replace(" *", " {0,8}").replace(" +", " {1,8}")
    return re.compile(bounded, pattern.flags)


_KEY_BEGINS = re.compile(r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY(?: BLOCK)?-----")


def _private_keys(text: str) -> Iterator[Secret]:
    """Each with all its lines; one without an end goes to the next empty line."""
    last_end = text.rfind("-----END")
    end = 0
    while match := _KEY_BEGINS.search(text, end):
        if match.end() <= last_end:
            end = text.find("\n", text.find("-----END", match.end()))
        else:
            end = text.find("\n\n", match.end())
        end = len(text) if end < 0 else end
        yield Secret(match.start(), end, "private key")


# ----------------------------------------------------------------------- by what stands before it

_NAMED = re.compile(
    r"""(?ix)
    (?P<name> pass(?:word|wd|phrase|code) | pwd | \bpin\b | secret | token | credential
      | (?:api|access|private|auth|account|client|master|service)[ _-]?key )
    (?: [_-][\w-]{1,20} )? s?
    [\]"'`*)]{0,3} \s{0,2}
    (?: (?P<sign> := | => | == | [:=] | \b(?:is|was|lautet|ist)\b ) \s{0,2} (?P<quote>["'`*]{0,3})
      | (?P<ticks>["'`]) )
    (?P<value> [^\s"'`<>|]{4,256} )
    """
)
_REFERENCE = re.compile(r"[~./$%{(\[#@]|\w+://|[A-Z][A-Z0-9]*_[A-Z0-9_]*$|1password", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_BLANKED = re.compile(r"(.)\1*|.*(\.\.\.|…|\*\*|xxx).*", re.IGNORECASE)
_REST = re.compile(r"[^\s\"'`<>|]*")
"""Of a value whose beginning tells that it is a secret."""


def _named(text: str) -> Iterator[Secret]:
    """`password: hunter2`, `the token is …`, but not `password: in the vault`."""
    end = 0
    while match := _NAMED.search(text, end):
        end = match.end()
        name = match["name"].lower()
        password = name.startswith(("pass", "pwd", "pin"))
        quoted = bool(match["quote"] or match["ticks"])
        if _says_a_secret(match["value"].rstrip(".,;:!?)]}*"), password, quoted):
            rest = _REST.match(text, end)
            end = rest.end() if rest else end
            kind = "password" if password else re.sub(r"[ _-]", " ", name)
            yield Secret(match.start("value"), end, kind)


def _says_a_secret(value: str, password: bool, quoted: bool) -> bool:
    if _REFERENCE.match(value) or _CONSTANT.fullmatch(value) or _BLANKED.fullmatch(value):
        return False
    if value.lower().endswith((".md", ".txt", ".yaml", ".json", ")")):
        return False
    letters = any(c.isalpha() for c in value)
    digits = any(c.isdigit() for c in value)
    if password:
        marks = any(c in "!@#$%^&*+=~?" for c in value)
        return digits or (letters and marks) or (quoted and len(value) >= 6)
    return letters and digits and len(value) >= 8


_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d{4,6}){2}(?:[ -]?\d{1,5})?(?![\w-])")


def _cards(text: str) -> Iterator[Secret]:
    """ISO/IEC 7812: 14 to 16 or 19 digits with a check digit."""
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdecimal() and c.isascii()]
        if len(digits) in (14, 15, 16, 19) and len(set(digits)) > 1 and _luhn(digits):
            yield _at(match, "card number")


def _luhn(digits: list[int]) -> bool:
    doubled = (sum(divmod(2 * d, 10)) if i % 2 else d for i, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0
