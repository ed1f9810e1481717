"""Secrets that a sentence names, in the languages of people: some words may stand between."""

from __future__ import annotations

import re
from collections.abc import Iterator

from pannier.redaction.secret import Secret
from pannier.redaction.values import bare, is_clearly_one, is_mixed, whole

_VALUE = r"[!#-&(-;=?-_a-{}~]{4,256}"
_REST = re.compile(r"[!#-&(-;=?-_a-{}~]*")
"""Of a value that is longer."""


def spoken(text: str) -> Iterator[Secret]:
    """`the password for the server is …`, `--password …`, `log in as admin / …`."""
    yield from _in_a_sentence(text)
    for pattern in (_OPTION, _UNSPACED):
        for match in pattern.finditer(text):
            if is_clearly_one(bare(match["value"]), password=True, pin=False):
                yield _secret(text, match, "password")
    for match in _LOGIN.finditer(text):
        if is_mixed(whole(match["value"])):
            yield _secret(text, match, "password")


def _secret(text: str, match: re.Match[str], kind: str) -> Secret:
    start, end = match.span("value")
    rest = _REST.match(text, end)
    longer = rest.end() if rest else end
    return Secret(start, longer if longer > end else start + len(whole(match["value"])), kind)


# ---------------------------------------------------------------------------------- in a sentence

_NAME = re.compile(
    r"""(?ix)
    (?: (?P<password> pass(?:word|wd|phrase|code|wort) | kennwort | mot[ ]de[ ]passe
          | contrase[ñn]a | senha | parol[aă] | has[łl]o | wachtwoord | l[öo]senord | adgangskode
          | passord | salasana | heslo | jelszó | [şs]ifre | kata[ ]sandi | mật[ ]khẩu
          | (?:wlan|wi-?fi)[ _-]?(?:key|schl[üu]ssel)
          | парол[ьяюі]е?м? | пароль | κωδικός | סיסמ[הא] | कूटशब्द | पासवर्ड | รหัสผ่าน
          | كلمة[ ](?:ال)?(?:مرور|سر) | رمز[ ]عبور | گذرواژه )
      | (?P<pin> \bpin\b(?=[ ](?:for|of|to|code|für)) )
      | token | secret | jeton | (?:api|access)[ _-]?(?:key|schl[üu]ssel)
      | \b(?:salt|pepper)\b | (?:signing|encryption|recovery|hmac|webhook)[ _-]?(?:key|code) ) s?
    """
)
_WORDS = re.compile(r"(?:[ ][^\s]{1,30}(?<![.!?;])){0,7}")
"""In which the secret may begin."""
_SIGN = re.compile(
    rf"""(?ix)
    (?: [:：] | [ ](?: is | was | lautet | ist | est | es | é | è | e' | jest | to | brzmi | är | er
        | on | je | este | é | это | είναι | هي | هو | است | है | คือ | היא | הוא | là | [—–-] ) )
    [ ]{{1,2}} ["'`*]{{0,3}} (?: (?P<spelled> (?:[!-~][ ]){{5,60}}[!-~](?![!-~]) )
    | (?P<value> {_VALUE} ) )
    | [ ]?=[ ]? (?P<assigned> {_VALUE} )
    """
)
_TRIES = 4
"""Words that may be the sign: `the password to the vault is ...`."""


def _in_a_sentence(text: str) -> Iterator[Secret]:
    end = 0
    while name := _NAME.search(text, end):
        end = name.end()
        if found := _after(text, name):
            end = found.end
            yield found


def _after(text: str, name: re.Match[str]) -> Secret | None:
    words = _WORDS.match(text, name.end())
    last = words.end() if words else name.end()
    at = name.end()
    for _ in range(_TRIES):
        sign = _SIGN.search(text, at, last + 300)
        if sign is None or sign.start() > last:
            return None
        if found := _value(text, name, sign):
            return found
        at = sign.start() + 1
    return None


def _value(text: str, name: re.Match[str], sign: re.Match[str]) -> Secret | None:
    password, pin = bool(name["password"]), bool(name["pin"])
    kind = "password" if password else "secret"
    if sign["spelled"]:
        letters = sign["spelled"].replace(" ", "")
        one = is_clearly_one(letters, password, pin)
        return Secret(*sign.span("spelled"), kind) if one else None
    if sign["assigned"]:
        if sign.start() > name.end():
            return None
        group = "assigned"
    else:
        group = "value"
    if not is_clearly_one(bare(sign[group]), password, pin):
        return None
    start, end = sign.span(group)
    rest = _REST.match(text, end)
    longer = rest.end() if rest else end
    return Secret(start, longer if longer > end else start + len(whole(sign[group])), kind)


# ------------------------------------------------------------------------------ in other ways

_OPTION = re.compile(
    rf"""(?ix) --[\w-]{{0,30}} (?: passw(?:or)?d | passphrase | secret | token | api-?key )
    [ =] ["']? (?P<value> {_VALUE} )"""
)
_UNSPACED = re.compile(
    rf"""(?ix) (?: 密码 | 密碼 | 口令 | 密钥 | 密鑰 | 令牌 | パスワード | 暗証番号 | トークン
      | 비밀번호 | 암호 | 비번 | 패스워드 | 토큰 ) \s{{0,2}}
    (?: 是 | 为 | 為 | は | ： | [:=] | 는 | 은 ) \s{{0,2}} ["'`]? (?P<value> {_VALUE} )"""
)
_LOGIN = re.compile(
    rf"""(?ix) \b(?: log[ -]?in | login | sign[ -]?in | user(?:name)? | account | credentials?
      | creds? | anmeld\w{{0,6}} | zugang\w{{0,8}} | einloggen ) \b
    [^\n/]{{0,60}}? (?: [ ]/[ ] | [ ]\S{{1,40}}: (?!//) ) (?P<value> {_VALUE} )"""
)
