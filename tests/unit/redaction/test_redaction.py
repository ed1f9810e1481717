"""Likely secrets in text: found, placed, and taken out."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pannier import redaction

# Put together here, so that no scanner takes this file for a leak.
HEX = "0123456789abcdef" * 4
TOKEN = "Zx9Qw3Er7Ty1Ui5Op2As8Df4Gh6Jk0LmNb"
SECRETS = {
    "anthropic": "sk-" + f"ant-api03-{TOKEN}",
    "openai": "sk-" + f"proj-{TOKEN}",
    "deepseek": "sk-" + HEX[:32],
    "github": "ghp_" + f"{TOKEN}ab",
    "github fine-grained": "github_" + f"pat_{TOKEN}",
    "gitlab": "glpat-" + TOKEN[:20],
    "aws": "AKIA" + "Q3EGRIMS7T5XVQXZ",
    "google": "AIza" + f"{TOKEN}x",
    "slack": "xoxb-" + "1234567890-1234567890-abcdefABCDEF",
    "slack app": "xapp-" + f"1-A012-123456-{HEX[:40]}",
    "stripe": "sk_" + f"live_{TOKEN[:24]}",
    "npm": "npm_" + f"{TOKEN}ab",
    "hugging face": "hf_" + TOKEN,
    "jwt": "eyJ" + "hbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2lnbmF0dXJl",
    "url": "postgres://app:" + "hunter2x@db.example/prod",
    "bearer": "Authorization: Bearer " + TOKEN,
    "basic login": "Authorization: Basic " + "b3BzOjRBY3E5R0Z6Nlk2ZA==",
    "curl login": "curl -s https://ci.example -u deploy:" + "qzH4LTzCgVqw6f",
    "netrc": "machine ftp.example login ops password " + "gBDTvykvAP5RBj9f",
    "mysql": "mysqldump shop -u root -p" + "tjVFd4NnbwEz2e",
    "sshpass": "sshpass -p " + "Nar3OSsU5ojW6b",
    "session": "Set-Cookie: session=" + TOKEN,
    "signed url": "https://a.example/f?sv=2024&sig=" + f"{TOKEN}%3D",
    "discord": "https://discord.com/api/webhooks/354863358270337998/" + TOKEN * 2,
    "mailgun": "key-" + HEX[:32],
    "pypi": "pypi-" + TOKEN * 2,
    "npm login": "//npm.example/:_authToken=" + "01234567-89ab-cdef-0123-456789abcdef",
    "card": "4111 1111 1111 " + "1111",
    "amex": "3782 822463 " + "10005",
}
NAMED = [
    "password: hunter2",
    "Password is `correct-horse-9`",
    "the DB password = 'swordfish'",
    "- **Password**: s3cr3t!!",
    'api_key="a1b2c3d4e5f6"',
    "API key: a1b2c3d4e5f6",
    "deploy token `q8w7e6r5t4`",
    "PIN: 4821",
    "aws_secret_access_key = " + "wJalrXUtnFEMIK7MDENGbPxRfiCYzz3X4MPL9KEY",
    "export STRIPE_SECRET=" + "abc123def456",
    "By the way, the password for staging is Harbor876!",
    "The PIN for the door is 81307.",
    "Passphrase of the backup key: harbor876!x",
    "Use this token from now on: tsaBX0Tr8qIHJuvmTYBYj22e",
    "mysql --user root --password EVAnEFSGuFP92d < dump.sql",
    "Das Passwort für den Server lautet 6mMfceYqtI7a.",
    "Le mot de passe de la base est H3p56WkeA36c.",
    "La contraseña del servidor es HiKHOnIgA98f.",
    "WLAN-Schlüssel: ao8Pue0dwQBi5d",
    "测试服务器的密码是X5YrsCxKOi4a。",
    "検証サーバーのパスワードはShyzLDiJQt7fです。",
    "log in as robot with password Tr0ub4dor&3.",
    "Das Passwort lautet hunter2.",
    "Kennwort: hunter2",
    "le mot de passe est hunter2",
    "contraseña: hunter2",
    "密码：hunter2",
    "密码是hunter2",
    "パスワードはhunter2です",
    "https://bob:Sommer2026!@db.example.com/x",
    "postgres://app:p$a&s+s=w0rd@db.example/prod",
    "redis://:hunter2!@cache.example:6379",
    "log in as admin / Sommer2026!",
    "Login admin:Sommer2026!",
    "Пароль от Atlas: Sommer2026!",
    "비밀번호는 Sommer2026! 입니다",
    "كلمة المرور هي Sommer2026!",
    "la password di atlas e' Sommer2026!",
    "la password di atlas è Sommer2026!",
    "a senha do atlas é Sommer2026!",
    "hasło to Sommer2026!",
    "Wachtwoord: Sommer2026!",
    "şifre: Sommer2026!",
    "The password to the vault is Sommer2026!",
    "the signing salt is " + HEX,
    "salt = " + HEX,
    "the atlas password is s o m m e r 2 0 2 6",
]
HARMLESS = [
    "deploy key: in the team's vault",
    "password: in the vault",
    "The password is kept in 1Password.",
    "password: 1Password, item Atlas",
    "token: $GITHUB_TOKEN",
    "token: ${{ secrets.DEPLOY_2 }}",
    "api key: ANTHROPIC_API_KEY_2",
    "password: ********",
    "password: <your password here>",
    "private key: ~/.ssh/id_ed25519",
    "secret: see [vault](../systems/vault2.md)",
    "max_tokens: 128000",
    "tokenizer: cl100k_base",
    "the token was rotated on 2026-11-29",
    "token: 2026-11-29",
    "secrets: people/dana2.md",
    "Dana's phone: +358 40 1234567",
    "invoice 4111 1111 1111 1112",
    "commit 3f2c9a7d1b5e8f60423a9c8b7d6e5f4a3b2c1d0e",
    "id 123e4567-e89b-12d3-a456-426614174000",
    "server 203.0.113.7",
    "sk-learn pipelines and sk-based things",
    "The secret of good releases is writing things down.",
    "1732838400000 4000000000000000",
    "The password for staging is kept in 1Password.",
    "The password of the customer is never asked for.",
    "Passwords for all users: at least twelve characters.",
    "Password policy: minimum 12 characters, rotation every 90 days.",
    "The token limit per request: 128000.",
    "The token for CI is rotated on 2026-11-29.",
    "Token usage of this run: 48213 in, 1200 out.",
    "The secret of good tests: write them first.",
    "The secret of this release: v2-final-candidate-build",
    "Run it with --password-stdin and pipe it in.",
    "docker login --password $DOCKER_PASS",
    "curl -u $USER:$PASS https://x.example",
    "curl -u ops:${OPS_PASSWORD} https://x.example",
    "docker run -u 1000:1000 image",
    "mysql -u root -p shop < dump.sql",
    "Basic understanding of authorization is needed.",
    "Pin the version of numpy to 2.1.0.",
    "Pin for the map: Helsinki, see page 2024.",
    "key-value stores are fine",
    "?sig=short&x=1",
    "session=true; sid=42",
    "machine learning login page password reset",
    "密码是从保险库里取的。",
    "パスワードは保管庫にあります。",
    "Le mot de passe est dans le coffre.",
    "Das Passwort für den Server ist im Tresor.",
    "La contraseña está en la bóveda.",
    "--max-tokens 128000 --token-file ~/.token",
    "The API key for maps is in the vault at ops/maps2.",
    "Access key: see docs/access2.md",
    "The passphrase is asked for at start: type it twice.",
    "tokens per second: 70 on two cores",
    "max_output_tokens for the model is 8192.",
    "The token count for the file is 1234567.",
    "Secrets in this repo: none found.",
    "WLAN key: in the drawer",
    "the password OAuth2 asks for",
    "passwords of 12 characters",
    "password rules: 2026 edition",
    "Das Passwort liegt im Tresor2.",
    "密码在保险库里",
    "https://docs.example.com:8080/a@2x.png",
    "http://localhost:8080?mail=a@b.example",
    "https://user:$PASSWORD@host.example/x",
    "postgres://app:***@db.example/prod",
    "Log in as admin / ask Dana for the rest.",
    "Login page / checkout: see v2.",
    "User guide: https://docs.example.com/v2?x=1",
    "Пароль хранится в сейфе.",
    "비밀번호는 금고에 있습니다",
    "La password di atlas è nel caveau.",
    "Hasło jest w sejfie.",
    "a pinch of salt is enough for 4 people",
    "The salt = pepper ratio is 2:1",
    "Signing key: the one in the vault, rotated 2026-11-29.",
    "sk-learn pipelines of version 2024",
]


@pytest.mark.parametrize("name", SECRETS)
def test_a_secret_with_a_known_format_is_found_and_taken_out_whole(name: str) -> None:
    """Wherever in a line it is; the text around it stays."""
    secret = SECRETS[name]
    masked = redaction.mask(f"before {secret}\nafter")
    assert masked.startswith("before ")
    assert masked.endswith("\nafter")
    assert "removed]" in masked
    assert secret.split(" ")[-1][-16:] not in masked


@pytest.mark.parametrize("line", NAMED)
def test_a_value_that_is_called_a_secret_is_found(line: str) -> None:
    """Also a password that has no format, and in the ways in which notes put it."""
    assert len(redaction.find(f"text\n{line}\ntext")) == 1


@pytest.mark.parametrize("line", HARMLESS)
def test_words_about_secrets_are_none(line: str) -> None:
    """Where one is kept, a placeholder, a variable, a hash, an id, an address."""
    assert redaction.find(line) == ()


HIDING: dict[str, Callable[[str], str]] = {
    "zero-width space": "\u200b".join,
    "soft hyphen": lambda text: text[:10] + "\u00ad" + text[10:],
    "direction": lambda text: text[:10] + "\u202a" + text[10:],
    "accent": lambda text: text[:10] + "\u0301" + text[10:],
    "empty letter": lambda text: text[:10] + "\u3164" + text[10:],
    "control character": lambda text: text[:10] + "\x08" + text[10:],
    "full width": lambda text: "".join(
        chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text
    ),
    "cyrillic": lambda text: text.translate(str.maketrans("aceopxAEO", "асеорхАЕО")),
}


@pytest.mark.parametrize("how", HIDING)
@pytest.mark.parametrize(
    "secret",
    [SECRETS["anthropic"], SECRETS["github"], SECRETS["card"], "password: Sommer2026x"],
    ids=["key", "token", "card", "password"],
)
def test_what_nobody_sees_hides_no_secret(how: str, secret: str) -> None:
    """Web pages and PDF files put such characters into keys, and so do people who hide one. All of
    it is taken out, at its place."""
    hidden = HIDING[how](secret)
    masked = redaction.mask(f"né {hidden} – ü")
    assert masked.startswith("né ")
    assert masked.endswith(" removed] – ü")
    assert hidden[-12:] not in masked


@pytest.mark.parametrize("break_", ["\n", " ", "\r\n  "])
def test_a_key_that_was_broken_is_taken_out_whole(break_: str) -> None:
    """Mails and terminals break long lines."""
    key = SECRETS["anthropic"]
    for at in (16, 24, len(key) - 14):
        masked = redaction.mask(f"Key: {key[:at]}{break_}{key[at:]} is it")
        assert masked == "Key: [API key removed] is it"


def test_the_last_mark_of_a_password_is_taken_out_with_it() -> None:
    """It may belong to the sentence; whoever knows it knows a part of the password."""
    assert redaction.mask("Das Passwort für Atlas lautet Sommer2026!").endswith(
        "lautet [password removed]"
    )
    assert redaction.mask("https://bob:Sommer2026!@db.example.com/x") == (
        "https://bob:[password removed]@db.example.com/x"
    )


@given(st.text(alphabet="ab \u200b\u0301é密ａﬃ\ufdfa\n", max_size=200))
@settings(max_examples=60, deadline=None)
def test_a_disguise_moves_no_place(noise: str) -> None:
    """What stands before and behind a hidden key stays as it is."""
    key = SECRETS["github"]
    masked = redaction.mask(f"{noise}\n{key[:9]}\u200b{key[9:]}\n{noise}")
    assert masked == f"{noise}\n[GitHub Token removed]\n{noise}"


def test_a_word_between_hides_no_secret() -> None:
    """What is called a secret again, right behind, is found."""
    assert "hunter2" not in redaction.mask("the password password: hunter2")


def test_a_private_key_is_one_secret_with_all_its_lines() -> None:
    """Not only its first line."""
    key = "-----BEGIN OPENSSH PRIVATE KEY-----\nabc\ndef\n-----END OPENSSH PRIVATE KEY-----"
    assert redaction.mask(f"a\n{key}\nb") == "a\n[private key removed]\nb"
    assert redaction.mask(f"a\n{key[:50]}") == "a\n[private key removed]"


def test_what_was_found_does_not_say_the_secret() -> None:
    """It can be logged."""
    (found,) = redaction.find("password: hunter2")
    assert "hunter2" not in repr(found)
    assert (found.start, found.end) == (10, 17)


def test_nobody_is_asked_about_a_secret(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing that was found leaves this computer."""

    def refuse(*args: object) -> None:
        raise AssertionError("opened a connection")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    for secret in SECRETS.values():
        assert redaction.find(secret)


@given(st.text(alphabet="ab:=-_ \n`'\"*pk1", max_size=5_000), st.sampled_from(sorted(SECRETS)))
@settings(max_examples=60, deadline=None)
def test_places_are_ordered_apart_and_within_the_text(noise: str, name: str) -> None:
    """And a secret on a line of its own is found whatever surrounds it."""
    text = f"{noise}\n{SECRETS[name]}\n{noise}"
    found = redaction.find(text)
    ends = [0]
    for secret in found:
        assert ends[-1] <= secret.start < secret.end <= len(text)
        ends.append(secret.end)
    at = len(noise) + 1
    assert any(s.start < at + len(SECRETS[name]) and s.end > at for s in found)


@given(st.integers(0, 5_000), st.integers(0, 3_000))
@settings(max_examples=40, deadline=None)
def test_a_secret_in_a_very_long_line_is_found_anywhere(before: int, after: int) -> None:
    """Long lines are looked at in pieces; none is lost between two of them."""
    secret = SECRETS["github"]
    (found,) = redaction.find("a " * before + secret + " b" * after)
    assert (found.start, found.end) == (2 * before, 2 * before + len(secret))


HOSTILE = [
    "sk-",
    "eyJ",
    "eyJa.eyJa.",
    "password",
    "password: ",
    "aws",
    "://a:",
    "4111 ",
    "4",
    "_",
    " ",
]


@pytest.mark.parametrize(
    "piece", [*HOSTILE, "-----BEGIN PRIVATE KEY-----", "//a/:_authToken=", "\n"]
)
def test_no_text_takes_more_than_linear_time(piece: str) -> None:
    """Four times the text does not take sixteen times as long, and no text takes seconds."""
    redaction.find("warm up")
    begin = time.process_time()
    redaction.find(piece * (65_536 // len(piece)))
    assert time.process_time() - begin < 3


@pytest.fixture(scope="module")
def plain_time() -> float:
    """Seconds that a megabyte of words takes."""
    return min(_seconds("plain words of nobody in particular ") for _ in range(2))


def _seconds(piece: str) -> float:
    redaction.find("warm up")
    text = piece * (1_000_000 // len(piece))
    begin = time.process_time()
    redaction.mask(text)
    return time.process_time() - begin


@pytest.mark.parametrize(
    "piece",
    [
        "-----BEGIN PRIVATE KEY-----\n",
        "-----BEGIN PRIVATE KEY-----\n\n",
        "-----BEGIN PRIVATE KEY-----\n-----END PRIVATE KEY-----\n",
        "/",
        "//a/:_authToken=",
        "key" + " " * 2_000 + "\n",
        "cl_key= " + " " * 2_000 + "=",
        "token:abc12345x",
        "secret_-_-_-_-",
        "://a:",
        "xoxb-1-",
        "eyJaaaaaaaa.eyJaaaa",
        "awspwd ",
        "password a b ",
        "token for: ",
        "curl -u a ",
        "mysql -p ",
        "machine a login b ",
        "--password",
        "密码",
        "glagent-" + "a" * 49,
        " ",
        "\u200b",
        "ａ",
        "\ufdfa",
        "пароль от: ",
        "sk-aaaaaaaa\n",
        "login a / ",
        "password a: a: a: ",
    ],
)
def test_a_megabyte_of_anything_takes_hardly_longer_than_one_of_words(
    piece: str, plain_time: float
) -> None:
    """Whoever writes a message cannot hold up those who look at it."""
    assert _seconds(piece) < 6 * plain_time + 1


@pytest.mark.parametrize("before", ["", "x" * 2_040 + "\n", "word " * 500])
@pytest.mark.parametrize(
    "name", ["password:\n ", "token: ", "Authorization: Bearer ", "password for it: "]
)
def test_a_secret_of_any_length_is_taken_out_whole(before: str, name: str) -> None:
    """Wherever it begins, and also when what names it stands in the line before."""
    value = TOKEN * 100
    assert value[-8:] not in redaction.mask(f"{before}{name}{value} after")
    assert redaction.mask(f"{before}{name}{value} after").endswith("removed] after")
