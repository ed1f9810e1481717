"""Secrets in the many forms in which they are found in conversations. They open nothing."""

from __future__ import annotations

import base64
import random
import string
from collections.abc import Callable

from pannier.evaluation.material import Secret

_ALNUM = string.ascii_letters + string.digits
_HEX = "0123456789abcdef"

Draw = Callable[[int], str]


def secrets(rng: random.Random) -> tuple[Secret, ...]:
    """One of each form."""

    def some(alphabet: str) -> Draw:
        return lambda length: _mixed(rng, alphabet, length)

    forms = _forms(some(_ALNUM), some(_HEX), some(string.ascii_uppercase + string.digits), rng)
    return tuple(Secret(form, value, text.replace("@@", value)) for form, value, text in forms)


def _mixed(rng: random.Random, alphabet: str, length: int) -> str:
    """Random, with a digit and a letter in it at least, as a real one has."""
    found = "".join(rng.choice(alphabet) for _ in range(length - 2))
    return f"{found}{rng.choice('23456789')}{rng.choice('abcdef')}"


def _forms(alnum: Draw, hexa: Draw, upper: Draw, rng: random.Random) -> list[tuple[str, str, str]]:
    word = rng.choice(["Maple", "Violet", "Granite", "Harbor"]) + str(rng.randrange(100, 999)) + "!"
    basic = base64.b64encode(f"ops:{alnum(12)}".encode()).decode()
    card = _card(rng)
    pem = "\n".join(alnum(60) for _ in range(3))
    return [
        ("Anthropic key", f"sk-ant-api03-{alnum(40)}", "ANTHROPIC_API_KEY=@@"),
        ("OpenAI key", f"sk-proj-{alnum(48)}", "My key is @@, use it for the demo."),
        ("GitHub token", f"ghp_{alnum(36)}", "git clone https://x:@@@github.com/acme/site"),
        ("GitHub fine-grained token", f"github_pat_{alnum(40)}", "remote: @@"),
        ("GitLab token", f"glpat-{alnum(20)}", "The deploy token is @@."),
        ("AWS access key", f"AKIA{upper(16).upper()}", "aws_access_key_id = @@"),
        ("AWS secret key", alnum(40), "aws_secret_access_key = @@"),
        ("Google key", f"AIza{alnum(35)}", "maps key @@"),
        ("Slack token", f"xoxb-{rng.randrange(10**11)}-{rng.randrange(10**11)}-{alnum(24)}", "@@"),
        ("Slack webhook", f"T0{upper(8).upper()}/B0{upper(8).upper()}/{alnum(24)}",
         "curl -d '{}' https://hooks.slack.com/services/@@"),
        ("Discord webhook", f"{rng.randrange(10**17, 10**18)}/{alnum(68)}",
         "post to https://discord.com/api/webhooks/@@"),
        ("Telegram token", f"{rng.randrange(10**9, 10**10)}:AA{alnum(33)}", "bot @@ answers"),
        ("Stripe key", f"sk_live_{alnum(24)}", "STRIPE=@@"),
        ("SendGrid key", f"SG.{alnum(22)}.{alnum(43)}", "mail sender: @@"),
        ("PyPI token", f"pypi-AgEIcHlwaS5vcmc{alnum(60)}", "twine upload -p @@ dist/*"),
        ("npm token", f"npm_{alnum(36)}", "//registry/:_authToken=@@"),
        ("Mailgun key", f"key-{hexa(32)}", "mailgun: @@"),
        ("Twilio key", f"SK{hexa(32)}", "twilio sid @@"),
        ("JSON web token", f"eyJhbGciOiJIUzI1NiJ9.eyJ{alnum(40)}.{alnum(43)}", "cookie: sid=@@"),
        ("bearer token", alnum(40), "curl -H 'Authorization: Bearer @@' localhost"),
        ("basic auth", basic, "Authorization: Basic @@"),
        ("database URL", alnum(14), "DATABASE_URL=postgres://app:@@@db.example/prod"),
        ("curl user", alnum(14), "curl -u deploy:@@ https://ci.example/job"),
        ("password", word, "By the way, the password for staging is @@"),
        ("Passwort", alnum(12), "Das Passwort für den Server lautet @@."),
        ("mot de passe", alnum(12), "Le mot de passe de la base est @@."),
        ("contraseña", alnum(12), "La contraseña del servidor es @@."),
        ("密码", alnum(12), "测试服务器的密码是@@。"),
        ("パスワード", alnum(12), "検証サーバーのパスワードは@@です。"),
        ("password option", alnum(14), "mysql --user root --password @@ < dump.sql"),
        ("password option of MySQL", alnum(14), "mysqldump -u root -p@@ shop"),
        ("environment password", alnum(14), "PGPASSWORD=@@ psql -h db"),
        ("sshpass", alnum(14), "sshpass -p @@ ssh deploy@host"),
        ("netrc", alnum(16), "machine ftp.example login ops password @@"),
        ("YAML password", alnum(14), "smtp:\n  user: mailer\n  password: \"@@\"\n"),
        ("JSON secret", alnum(32), '{"client_id": "web", "client_secret": "@@"}'),
        ("X-Api-Key", alnum(32), "X-Api-Key: @@"),
        ("Azure key", f"{alnum(84)}==",
         "DefaultEndpointsProtocol=https;AccountName=acme;AccountKey=@@;EndpointSuffix=x"),
        ("shared access signature", f"{alnum(43)}%3D",
         "https://acme.blob.core.windows.net/c/f?sv=2024-01-01&sig=@@"),
        ("session cookie", alnum(40), "Set-Cookie: session=@@; HttpOnly"),
        ("one-time seed", upper(32).upper(), "otpauth://totp/ops?secret=@@&issuer=acme"),
        ("private key", pem,
         "-----BEGIN OPENSSH PRIVATE KEY-----\n@@\n-----END OPENSSH PRIVATE KEY-----"),
        ("private key in JSON", f"MIIE{alnum(80)}",
         '{"private_key": "-----BEGIN PRIVATE KEY-----\\n@@\\n-----END PRIVATE KEY-----\\n"}'),
        ("card number", card, "Put it on the card @@, valid until 11/29."),
        ("Wi-Fi password", alnum(14), "WLAN-Schlüssel: @@"),
        ("PIN", str(rng.randrange(1000, 9999)) + "7", "The PIN for the door is @@."),
        ("passphrase", word.lower() + alnum(6), "Passphrase of the backup key: @@"),
        ("Vault token", f"hvs.{alnum(90)}", "vault login @@"),
        ("Hugging Face token", f"hf_{alnum(34)}", "huggingface-cli login --token @@"),
        ("age key", f"AGE-SECRET-KEY-1{upper(58).upper()}", "@@"),
        ("masked in words", alnum(24), "Use this token from now on: @@"),
    ]  # fmt: skip


def _card(rng: random.Random) -> str:
    digits = [4, *(rng.randrange(10) for _ in range(14))]
    doubled = (sum(divmod(2 * d, 10)) if i % 2 == 0 else d for i, d in enumerate(reversed(digits)))
    text = "".join(map(str, [*digits, -sum(doubled) % 10]))
    return " ".join(text[i : i + 4] for i in range(0, 16, 4))
