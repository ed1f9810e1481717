"""Whether a text widens what an agent may do. Pure; knows phrases, not meanings.

A lesson that does waits for a person, whoever is said to have said it: what a container tells about
that is a claim. Here is the second look, after the model's own; it can be wrong both ways, and
rather holds a harmless lesson than passes another one. The phrases are in `widening.txt`; what is
said only to be forbidden (`never deploy without asking`) does not count.

Everything is bounded, so that it takes time in proportion to the text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache

from pannier.learning.guards.markup import has_comments, unmarked
from pannier.learning.guards.sections import sections
from pannier.learning.guards.words import addresses, normal, without_addresses


def widens(text: str) -> str:
    """Why a person has to look at it, such as `lets it skip a check`; "": no reason was found."""
    if has_comments(text):
        return HIDES
    plain = _APART.sub("", normal(unmarked(text)).replace('"', ""))
    for phrase in _phrases():
        for match in phrase.pattern.finditer(plain):
            if not _denied(plain, match, phrase):
                return phrase.why
    if _SPELLED.search(plain):
        return HIDES
    return next(filter(None, map(_addressed, _sentences(plain))), "")


ASKS_NOT = "lets it act without asking"
SENDS = "names an address to send something to"
CREDENTIALS = "names a place for credentials"
HIDES = "hides what it says"

_APART = re.compile(r"(?<=[\u3040-\u30ff\u3400-\u9fff]) (?=[\u3040-\u30ff\u3400-\u9fff])")
_SPELLED = re.compile(r"(?<!\w)[^\W\d_](?:([ ._|/-])[^\W\d_])(?:\1[^\W\d_]){3,}(?!\w)")
"""Words in single letters."""


@dataclass(frozen=True)
class _Phrase:
    why: str
    pattern: re.Pattern[str]
    denial: bool
    """It is one itself."""
    unspaced: bool
    """Of a script without spaces between words."""


_GAP = r"\b(?:[^.!?;。！？；]|[.!?](?! |$)){0,60}?(?<!\w)"
_UNSPACED = re.compile(r"[\u3000-\u9fff]")
_WORDS = ("denials", "urges", "seconds", "turns")
"""Sections of `widening.txt` that are no reasons."""


def _table() -> dict[str, list[str]]:
    return sections("widening.txt")


@lru_cache(maxsize=1)
def _phrases() -> tuple[_Phrase, ...]:
    return tuple(
        _compiled(why, line)
        for why, lines in _table().items()
        if why not in _WORDS
        for line in lines
    )


def _compiled(why: str, line: str) -> _Phrase:
    unspaced = _UNSPACED.search(line) is not None
    body = line.removeprefix("! ")
    expression = re.sub(r"(?<=[\w-])\*", r"\\w{0,20}", body)
    expression = re.sub(r"(?<![\w)\]])\*(?=\w)", r"\\w{0,30}", expression)
    expression = re.sub(r"\+(\d) ", r"(?:[^\\s.!?;:]{1,30} ){0,\1}?", expression)
    expression = re.sub(r"\((?!\?)", "(?:", expression.replace(" _ ", _GAP))
    if not unspaced:
        expression = rf"(?<!\w)(?:{expression})(?!\w)"
    return _Phrase(why, re.compile(expression), line.startswith("! "), unspaced)


# --------------------------------------------------------------------------------------- denials


def _denied(text: str, match: re.Match[str], phrase: _Phrase) -> bool:
    before = text[max(match.start() - 80, 0) : match.start()]
    after = text[match.end() : match.end() + 80]
    if phrase.unspaced:
        return _unspaced_denial(before, after)
    if phrase.why == ASKS_NOT and _AFTER_WITHOUT.match(after):
        return True
    if _AFTER.match(after):
        return True
    if phrase.denial:
        return False
    inside = _clause(match[0]).split()[-5:-1]
    return _count([*_clause(before).split(), *inside]) % 2 == 1


_CLAUSE_ENDS = re.compile(r"[.!?](?: |$)|[;:,()。！？；，、]")


def _clause(text: str) -> str:
    """The last one of a text."""
    return _CLAUSE_ENDS.split(text)[-1]


@lru_cache(maxsize=4)
def _any_of(section: str) -> re.Pattern[str]:
    found = " ".join(_table()[section]).split()
    return re.compile("|".join(re.escape(word).replace(r"\*", r"\w*") for word in found))


def _count(words: list[str]) -> int:
    """How often a clause denies; behind the last turn in it, two denials being none."""
    count = 0
    for place, word in enumerate(words):
        if _any_of("turns").fullmatch(word):
            count = 0
        elif _any_of("denials").fullmatch(word) and not _idle(words, place):
            count += 1
    return count


def _idle(words: list[str], place: int) -> bool:
    """Whether a denial there denies nothing more."""
    if any(_any_of("urges").fullmatch(word) for word in words[place + 1 : place + 3]):
        return True
    earlier = {"ne", "n", "no"} & set(words[max(place - 4, 0) : place])
    return bool(earlier and _any_of("seconds").fullmatch(words[place]))


_AFTER = re.compile(
    r" (?:to |by )?(?:nobody|no one|nowhere|nicht(?! nur)|nie|niemals|niemand\w*|unter keinen)\b"
    r"| (?:is|are|was|were) (?:forbidden|prohibited|wrong|a mistake|unacceptable|disallowed"
    r"|(?:not|never) (?:allowed|ok|okay|permitted|acceptable|fine|an option))\b"
    r"| (?:ist|sind|war) (?:verboten|untersagt|tabu|falsch|nicht (?:erlaubt|gestattet|zulassig))\b"
    r"| (?:est|sont) (?:interdit\w*|proscrit\w*)\b"
    r"| (?:esta|estan) prohibid\w*"
)
_AFTER_WITHOUT = re.compile(
    r",? (?:(?:you|we|it|one|the \w{1,20}) )?(?:must not|must never|never|do not|don't|nothing"
    r"|nobody|no one|cannot|can't|may not|should not|shouldn't)\b"
    r"(?! (?:hesitate|wait|worry|mind|matter|stop))"
    r"|,? (?:wird|werden|darf|durfen|geht|gehen|ist|sind|kommt)"
    r" (?:(?!und |aber |oder )[^\s,.;]{1,30} ){0,4}"
    r"(?:nichts?|kein\w*|nie|niemals|verboten|untersagt)\b"
    r"|,? (?:ne|n|rien|aucun\w*|jamais)\b(?! (?:hesit|attend|crain))"
    r"|,? (?:no|nunca|nada|jamas)\b(?! (?:dud|esper|hay|es |importa|hace|tem))"
)
"""After `without asking` and the like at the beginning: then it is a rule, not a licence."""

_FORBIDS = (
    r"(?:不得(?!不)|禁止|严禁|切勿|请勿|勿|不可|不能(?!不)"
    r"|不许|不准|绝不|从不|不应|不允许|不要|别)"
)
_BEFORE_UNSPACED = re.compile(rf"{_FORBIDS}(?!忘|犹豫|等|担心|怕)[^。！？，；、,.;!?]{{0,16}}$")
_AFTER_UNSPACED = re.compile(
    rf"[，,]?[^。！？，；、,.;!?]{{0,6}}{_FORBIDS}(?!忘|犹豫|等|担心|怕)"
    r"|[^。！？，；、,.;!?]{0,24}?(?:禁止|不可|だめ|ダメ|いけ|なりません|ません"
    r"|(?<!問題)(?<!構わ)(?<!かまわ)(?<!必要)(?<!いら)(?<!差し支え)ない)"
)


def _unspaced_denial(before: str, after: str) -> bool:
    if _AFTER_UNSPACED.match(after):
        return True
    return _BEFORE_UNSPACED.search(before) is not None


# ------------------------------------------------------------------------------------- addresses

_SENDING = re.compile(
    r"(?<!\w)(?:send|sends|sent|forward|forwards|forwarded|upload\w*|post|posts|e-?mail|e-?mails"
    r"|submit\w*|report|reports|bcc|cc|copy|push|publish\w*|sync\w*|mirror\w*|deliver\w*|notify|pay"
    r"|transfer\w*|wire|remit\w*|deposit\w*"
    r"|schick\w*|sende|senden|weiterleit\w*|leite|leiten|uberweis\w*|zahl\w*|hochladen|lade"
    r"|envo\w*|transm\w*|vir\w{1,4}|paye\w*|transfer\w*"
    r"|envi\w*|mand\w*|reenvi\w*|sub\w{1,3}|pag\w{1,3}|transfier\w*)(?!\w)"
    r"|发送|发给|发到|发往|上传|转发|提交|寄|付款|转账|汇款|送|転送|アップロード|投稿|振り込|支払"
)


_CREDENTIALS = re.compile(
    r"(?<!\w)(?:log(?:ged|ging|s)?[ -]?(?:in|on)|log-?ins?|logons?|sign(?:ed|ing|s)?[ -]?in|vaults?"
    r"|passwords?|passphrases?|passwd|credentials?|keys?(?! (?:contact|person|account|date|figure"
    r"|point|customer|result|user)s?)|accounts?(?! (?:manager|team|executive|owner)s?)|banks?|iban"
    r"|pay|pays|payments?|wallets?|2fa|otp|secrets?|tokens?"
    r"|anmeld\w*|einlogg\w*|\w{0,20}passwort\w*|zugangsdaten|konto|bankverbindung|zahlung\w*"
    r"|schlussel|tresor|compte|banque|mots? de passe|cles?|paiements?|coffre|identifiants?"
    r"|cuentas?|banco|contrasenas?|claves?|pagos?|boveda|credenciales)(?!\w)"
    r"|登录|登陆|密码|密钥|账号|账户|帐号|银行|付款|ログイン|パスワード|鍵|口座|銀行|支払|アカウント|認証"
)


def _addressed(sentence: str) -> str:
    """Whether something shall be sent to an address that the sentence names, or it is one for keys,
    logins or money. A name within an address does not count: `login.acme.example` is a host."""
    if not addresses(sentence):
        return ""
    rest = without_addresses(sentence)
    for why, pattern in ((SENDS, _SENDING), (CREDENTIALS, _CREDENTIALS)):
        text = sentence if why == SENDS else rest
        if (match := pattern.search(text)) and not _forbidden(text, match):
            return why
    return ""


def _forbidden(sentence: str, match: re.Match[str]) -> bool:
    before, after = sentence[: match.start()], sentence[match.end() :]
    if _UNSPACED.search(match[0]):
        return _unspaced_denial(before[-80:], after[:80])
    return _count(_clause(before[-80:]).split()) % 2 == 1


_SENTENCE_ENDS = re.compile(r"(?<=[.!?;]) |(?<=[。！？；])")


def _sentences(text: str) -> Iterator[str]:
    return filter(None, _SENTENCE_ENDS.split(text))
