"""Secrets that are known by their format.

The formats of vendors are those of detect-secrets, and ours for what it lacks. Only its patterns
are used: its scanner would ask the vendor whether what it found is valid. Not used are its guesses
about quoted words and its public IP addresses, which in notes are wrong more often than right.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

from pannier.redaction.secret import Secret, at


def formatted(text: str) -> Iterator[Secret]:
    """Keys and tokens of vendors, private keys, cards, URLs with a password."""
    yield from _private_keys(text)
    yield from _cards(text)
    yield from _broken(text)
    yield from _logins(text)
    for kind, pattern in _formats():
        yield from (at(match, kind) for match in pattern.finditer(text))


_OURS = {
    "Anthropic key": r"sk-ant-[\w-]{16,}",
    "API key": r"(?<![\w-])sk-(?!ant-)(?=[\w-]{0,60}[A-Za-z0-9]{16})(?=[\w-]{0,60}\d)[\w-]{20,}",
    "AWS key": r"(?i:secret_?access_?key)\W{1,6}(?P<value>[\w/+]{40})(?![\w/+])",
    "Databricks token": r"\bdapi[0-9a-f]{32}\b",
    "DigitalOcean token": r"\bdo[opr]_v1_[0-9a-f]{64}",
    "Discord webhook": r"discord(?:app)?\.com/api/webhooks/(?P<value>\d{15,20}/[\w-]{40,})",
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
    "Mailgun key": r"\bkey-[0-9a-f]{32}\b",
    "Notion token": r"\b(?:ntn_|secret_)[A-Za-z0-9]{40,}",
    "npm login": r"/:_authToken=\s{0,2}(?P<value>npm_[^\s\"']{1,400}|[A-Fa-f0-9-]{36})",
    "npm token": r"\bnpm_[A-Za-z0-9]{36}",
    "Perplexity key": r"\bpplx-[A-Za-z0-9]{40,}",
    "PyPI upload token": r"\bpypi-[\w-]{40,}",
    "Replicate token": r"\br8_[A-Za-z0-9]{37}",
    "Shopify token": r"\bshp(?:at|ca|pa|ss)_[0-9a-fA-F]{32}",
    "Slack token": r"\bxapp-\d-[A-Z0-9]+-\d+-[0-9a-f]{32,}",
    "Stripe key": r"\b(?:[rs]k_test_|whsec_)[A-Za-z0-9]{24,}",
    "Tailscale key": r"\btskey-[a-z]+-[\w-]{16,}",
    "Vault token": r"\bhv[sbr]\.[\w-]{24,}",
    "xAI key": r"\bxai-[A-Za-z0-9]{60,}",
    "age key": r"\bAGE-SECRET-KEY-1[A-Z0-9]{40,}",
    "basic login": r"(?i:authorization\W{1,6}basic)\s{1,3}(?P<value>[\w+/]{8,}={0,2})",
    "bearer token": r"\b[Bb]earer\s{1,3}(?P<value>(?=[\w.~+/-]{0,40}\d)[\w.~+/-]{20,}={0,2})",
    "login": r"\bcurl\b[^\n]{0,200}?\s(?:-u|--user)[ =][\"']?[^\s:\"']{1,60}:"
    r"(?P<value>[^\s\"'$]{4,})",
    "login of a machine": r"\bmachine\s{1,8}\S{1,200}\s{1,8}login\s{1,8}\S{1,100}\s{1,8}"
    r"password\s{1,8}(?P<value>(?=\S{0,60}[\d!@#$%^&*+=~?])\S{1,200})",
    "password of MySQL": r"\bmysql\w{0,10}\b[^\n]{0,200}?\s-p(?P<value>[^\s\"'$-][^\s\"']{3,})",
    "password of a shell": r"\bsshpass\s{1,8}-p[ ]?[\"']?(?P<value>[^\s\"'$]{3,})",
    "session": r"\b(?:PHPSESSID|JSESSIONID|connect\.sid|sess(?:ion)?(?:_?id)?|sid)="
    r"(?P<value>[\w%.+/-]{16,})",
    "signed URL": r"[?&](?:sig|X-(?:Amz|Goog)-Signature)=(?P<value>[\w%+/=-]{20,})",
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


_BROKEN = re.compile(
    r"(?<![\w-])(?:sk-|gh[pousr]_|github_pat_|glpat-|xox[abprs]-|AKIA|AIza|hf_|npm_|pypi-|gsk_|xai-"
    r"|eyJ|[rs]k_live_)[\w-]{4,300}(?: |\s{0,4}\n\s{0,4})(?P<rest>[\w-]{8,300})"
)


def _broken(text: str) -> Iterator[Secret]:
    """A vendor's key with a space or the end of a line within it."""
    for match in _BROKEN.finditer(text):
        rest = match["rest"]
        mixed = any(map(str.isdigit, rest)) and any(map(str.isalpha, rest))
        if mixed and (len(rest) >= 12 or rest not in (rest.lower(), rest.upper())):
            yield at(match, "API key")


_LOGIN = re.compile(
    r"""://[^\s/?#@:"'<>]{0,100}:(?!\d{1,5}[?#])(?P<value>[^\s/"'<>]{1,200})@(?=[\w\[])"""
)
_NO_LOGIN = re.compile(r"\$\{?\w+\}?|\{+[\w.]+\}+|%\(\w+\)s|(.)\1*|\[.*\]|\.{3}|…")


def _logins(text: str) -> Iterator[Secret]:
    """Of URLs, with any characters in the password."""
    for match in _LOGIN.finditer(text):
        if not _NO_LOGIN.fullmatch(match["value"]):
            yield at(match, "password")


_CARD = re.compile(r"(?<![\w.-])[3-6]\d{3}(?:[ -]?\d{4,6}){2}(?:[ -]?\d{1,5})?(?![\w-])")


def _cards(text: str) -> Iterator[Secret]:
    """ISO/IEC 7812: 14 to 16 or 19 digits with a check digit."""
    for match in _CARD.finditer(text):
        digits = [int(c) for c in match[0] if c.isdecimal() and c.isascii()]
        if len(digits) in (14, 15, 16, 19) and len(set(digits)) > 1 and _luhn(digits):
            yield at(match, "card number")


def _luhn(digits: list[int]) -> bool:
    doubled = (sum(divmod(2 * d, 10)) if i % 2 else d for i, d in enumerate(reversed(digits)))
    return sum(doubled) % 10 == 0
