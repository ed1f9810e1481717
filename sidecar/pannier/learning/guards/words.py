"""Text as it is compared: written in one form, and taken apart into words. Pure.

Whoever wants to deceive a comparison writes the same words otherwise: with letters that look alike,
with marks that are not seen, with emphasis. All of that is levelled here. Everything takes time in
proportion to the text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable

from pannier.redaction.reading import ALIKE, is_unseen

_ODD = re.compile(r"[^\t\n\r -~]")
_EMPHASIS = str.maketrans("", "", "*`~")
_SPACE = re.compile(r"\s+")
_SENTENCE_ENDS = re.compile(r"(?<=[.!?])\s|\n|(?<=[。！？])")
_ELIDED = re.compile(r"(?<![^\W_])([cdjlmnst]|qu)'(?=[^\W_])")
"""French: `l'accord`."""


def normal(text: str) -> str:
    """In one form: small letters without accents, one space between words, no line breaks."""
    if _ODD.search(text):
        text = _levelled(text)
    text = text.casefold().translate(_EMPHASIS)
    return _SPACE.sub(" ", _ELIDED.sub(r"\1 ", text)).strip()


def _levelled(text: str) -> str:
    text = "".join(c for c in text if c.isascii() or not is_unseen(c))
    text = unicodedata.normalize("NFKD", text)
    text = "".join(c for c in text if c.isalnum() or not is_unseen(c))
    return unicodedata.normalize("NFKC", text).casefold().translate(ALIKE)


# -------------------------------------------------------------------------------------- words

_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3005-\u3007\u3040-\u30ff\u3400-\u9fff\uac00-\ud7a3"
)
"""Scripts that put no space between words, and Hangul, whose words take many endings."""
_RUN = re.compile(rf"([{_UNSPACED}]+)|[^\W_{_UNSPACED}]+")
_ENDING = re.compile(r"(?:ingly|edly|ings|ing|ions|ion|ers|ed|es|en|er|ly|s|e|n|t)$")
_LITTLE = (
    "a an the of to in on at by for from with as and or is are was were be been it its that this"
    " der die das den dem des ein eine einen einem einer und oder ist sind im am zu zum zur von mit"
    " auf bei fur als es wird werden"
    " le la les un une des du de et ou est sont au aux en dans par pour avec ce cette"
    " c d j l m n qu s t que se"
    " el los las una uno del al y o es son por para con lo su sus"
)
_COMMON = frozenset(_LITTLE.split())
"""Words that say nothing by themselves; those of denial are not among them."""


def words(text: str) -> list[str]:
    """The words that say something, in order, without their endings; of scripts without spaces, all
    pairs of neighbouring characters."""
    found: list[str] = []
    for match in _RUN.finditer(normal(text)):
        if run := match[1]:
            found += [run[i : i + 2] for i in range(max(len(run) - 1, 1))]
        elif match[0] not in _COMMON:
            found.append(_stem(match[0]))
    return found


def _stem(word: str) -> str:
    """Roughly, and for all languages alike: the same word in another form becomes the same."""
    if not word.isalpha() or len(word) < 4:
        return word
    for _ in range(2):
        if len(shorter := _ENDING.sub("", word[:24])) >= 3:
            word = shorter
    return word[:7]


# ------------------------------------------------------------------------------------ addresses

_ADDRESS = re.compile(
    r"\b[a-z][a-z0-9+.-]{1,20}://[^\s\"'<>()\[\]{}|]{1,500}"  # URL
    r"|[a-z0-9._%+-]{1,64}@[a-z0-9-]{1,63}(?:\.[a-z0-9-]{1,63}){1,8}"  # mail
    r"|\b\d{1,3}(?:\.\d{1,3}){3}\b"  # IPv4
    r"|\b[a-z]{2}\d{2}(?: ?[a-z0-9]{4}){3,7}(?: ?[a-z0-9]{1,4})?\b"  # IBAN
    r"|\b0x[0-9a-f]{40}\b|\bbc1[a-z0-9]{25,60}\b"  # wallets
    r"|(?<![\w@.-])(?:[a-z0-9-]{1,63}\.){1,5}(?:com|org|net|io|dev|ai|app|example|test|invalid|xyz"
    r"|info|cloud|biz|ru|cn|de|fr|es|jp|uk|eu|co|cc|site|online|top|ly|gg|internal|local|lan|corp"
    r"|intra|tech|shop|click|nl|be|ch|se|fi|dk|br|kr|tr|ua|su|tv|cz|hu|ro|gr|pt|ie|ca|au|it)"
    r"\b(?![\w-]|\.\w)"
)


def addresses(text: str) -> frozenset[str]:
    """Where something can be sent to or fetched from: URLs, mail addresses, hosts, accounts."""
    found = (match[0].rstrip(".,;:!?/") for match in _ADDRESS.finditer(normal(text)))
    return frozenset(address.replace(" ", "") for address in found)


def without_addresses(plain: str) -> str:
    """A text in its normal form with an ellipsis in the place of each address."""
    return _ADDRESS.sub("…", plain)


def figures(text: str) -> frozenset[str]:
    """The numbers and names with digits in a text: what changes its meaning when it is wrong."""
    return frozenset(word for word in words(text) if any(c.isdigit() for c in word))


def sentences(text: str) -> list[str]:
    """Those of a text that is not in its normal form; the end of a line ends one, too."""
    return [sentence for sentence in _SENTENCE_ENDS.split(text) if sentence.strip()]


def together(texts: Iterable[str]) -> list[str]:
    """The words of several texts. Between two stands an empty one: no phrase reaches across."""
    joined: list[str] = []
    for text in texts:
        joined += [*words(text), ""]
    return joined
