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
    found = [*_private_keys(text), *_named(text), *_spoken(text), *_cards(text)]
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


# ----------------------------------------------------------------------- by what stands before it

_NAMED = re.compile(
    r"""(?ix)
    (?P<name> pass(?:word|wd|phrase|code) | pwd | \bpin\b | secret | token | credential
      | (?:api|access|private|auth|account|client|master|service)[ _-]?key )
    (?: [_-][\w-]{1,20} )? s?
    [\]"'`*)]{0,3} \s{0,2}
    (?: (?P<sign> := | => | == | [:=] | \b(?:is|was|lautet|ist)\b ) \s{0,2} (?P<quote>["'`*]{0,3})
      | (?P<ticks>["'`])
      | (?P<bare>(?<=[ ])) )
    (?P<value> [^\s"'`<>|]{4,256} )
    """
)
_REFERENCE = re.compile(r"[~./$%{(\[#@]|\w+://|[A-Z][A-Z0-9]*_[A-Z0-9_]*$|1password", re.IGNORECASE)
_CONSTANT = re.compile(r"[A-Z][A-Z0-9]*(_[A-Z0-9]+)+")
_BLANKED = re.compile(r"(.)\1*|.*(\.\.\.|…|\*\*|xxx).*", re.IGNORECASE)
_MARKS = frozenset("!@#$%^&*+=~?")
_REST = re.compile(r"[^\s\"'`<>|]*")
"""Of a value whose beginning tells that it is a secret."""


def _named(text: str) -> Iterator[Secret]:
    """`password: hunter2`, `the token is …`, but not `password: in the vault`. With nothing between
    the two, only what looks like a password."""
    end = 0
    while match := _NAMED.search(text, end):
        name, value = match["name"].lower(), match["value"].rstrip(".,;:!?)]}*")
        password = name.startswith(("pass", "pwd", "pin"))
        quoted = bool(match["quote"] or match["ticks"])
        bare = match["bare"] is not None
        if bare and not (password and _is_mixed(value)):
            end = match.end("name")
            continue
        end = match.end()
        if _says_a_secret(value, password, quoted):
            rest = _REST.match(text, end)
            end = rest.end() if rest else end
            kind = "password" if password else re.sub(r"[ _-]", " ", name)
            yield Secret(match.start("value"), end, kind)


def _is_mixed(value: str) -> bool:
    """Whether it is no word of a sentence: it has letters, digits and marks."""
    return (
        any(map(str.isalpha, value))
        and any(map(str.isdigit, value))
        and any(map(_MARKS.__contains__, value))
    )


def _says_a_secret(value: str, password: bool, quoted: bool) -> bool:
    if _REFERENCE.match(value) or _CONSTANT.fullmatch(value) or _BLANKED.fullmatch(value):
        return False
    if value.lower().endswith((".md", ".txt", ".yaml", ".json", ")")):
        return False
    letters = any(c.isalpha() for c in value)
    digits = any(c.isdigit() for c in value)
    if password:
        marks = any(c in _MARKS for c in value)
        return digits or (letters and marks) or (quoted and len(value) >= 6)
    return letters and digits and len(value) >= 8


_SPOKEN = re.compile(
    r"""(?ix)
    (?: (?P<name> pass(?:word|wd|phrase|code|wort) | kennwort | mot[ ]de[ ]passe | contraseña
          | senha | \bpin\b(?=[ ](?:for|of|to|code|für))
          | (?:wlan|wi-?fi)[ _-]?(?:key|schlüssel)
          | token | secret | jeton | (?:api|access)[ _-]?(?:key|schlüssel) ) s?
        (?: [ ]\S{1,30} ){0,6}?
        (?: : | [ ](?: is | was | lautet | ist | est | es | é ) ) [ ]{1,2} ["'`*]{0,3}
      | --(?P<option> [\w-]{0,30} (?: passw(?:or)?d | passphrase | secret | token | api-?key ) )
        [ =] ["']?
      | (?P<unspaced> 密码 | 口令 | 密钥 | 令牌 | パスワード | 暗証番号 | トークン ) \s{0,2}
        (?: 是 | 为 | 為 | は | ： | [:=] ) \s{0,2} ["'`]?
    )
    (?P<value> [!#-&(-;=?-_a-{}~]{4,256} )
    """
)
_ASCII_REST = re.compile(r"[!#-&(-;=?-_a-{}~]*")
_PASSWORDS = ("pass", "kenn", "mot", "contra", "senha", "wi", "wlan")
_VERSION = re.compile(r"v?\d+(?:[.-]\d+)+", re.IGNORECASE)


def _spoken(text: str) -> Iterator[Secret]:
    """`the password for the server is …`, `--password …`, in several languages."""
    end = 0
    while match := _SPOKEN.search(text, end):
        end = match.end()
        value = match["value"].rstrip(".,;:!?)]}*")
        name = (match["name"] or "password").lower()
        password = name.startswith(_PASSWORDS)
        if _is_clearly_one(value, password, name.startswith("pin")):
            kind = "password" if password else "secret"
            rest = _ASCII_REST.match(text, end)
            end = rest.end() if rest else end
            start = match.start("value")
            yield Secret(start, end if end > match.end() else start + len(value), kind)


def _is_clearly_one(value: str, password: bool, pin: bool) -> bool:
    """Something stands between its name and it, so it has to look like one."""
    if _REFERENCE.match(value) or _CONSTANT.fullmatch(value) or _BLANKED.fullmatch(value):
        return False
    if value.lower().endswith((".md", ".txt", ".yaml", ".json", ")")) or _VERSION.fullmatch(value):
        return False
    digits = sum(c.isdigit() for c in value)
    letters = sum(c.isalpha() for c in value)
    if pin:
        return value.isdecimal()
    if password:
        marks = any(c in "!@#$%^&*+=~?" for c in value)
        return len(value) >= 6 and letters > 0 and (digits > 0 or marks)
    mixed = digits > 1 or (digits > 0 and value != value.lower())
    return len(value) >= 16 and letters > 1 and mixed and sum(c in "-_/." for c in value) < 2


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
