"""The long strings of a client's JSON, set aside before anything is parsed."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from functools import wraps
from typing import TypeVar, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier_hook import longstrings
from pannier_hook.longstrings import LongStrings, spans

LEAST = 12
MOST = 1 << 20
TEXTS = st.text(st.sampled_from('ab\\"\n\x01é大🙂{,'), max_size=40)
VALUES = st.recursive(
    TEXTS | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3),
    max_leaves=8,
)


Test = TypeVar("Test", bound=Callable[..., None])


def in_small_pieces(test: Test) -> Test:
    """With pieces that end everywhere."""

    @wraps(test)
    def patched(*args: object, **named: object) -> None:
        with pytest.MonkeyPatch.context() as patch:
            patch.setattr(longstrings, "PIECE", 20)
            test(*args, **named)

    return cast(Test, patched)


def strings_of(value: object) -> Iterator[str]:
    if isinstance(value, str):
        yield value
    elif isinstance(value, list):
        for inner in value:
            yield from strings_of(inner)
    elif isinstance(value, dict):
        for name, inner in value.items():
            yield name
            yield from strings_of(inner)


def body(text: str, ascii_only: bool) -> bytes:
    return json.dumps(text, ensure_ascii=ascii_only).encode()[1:-1]


@given(VALUES, st.booleans(), st.integers(0, 3))
@in_small_pieces
def test_where_they_are(value: object, ascii_only: bool, indent: int) -> None:
    """Exactly those strings are found that are longer than allowed, whatever stands in them."""
    data = json.dumps(value, ensure_ascii=ascii_only, indent=indent or None).encode()
    found = [data[begin:end] for begin, end in spans(data, LEAST)]
    bodies = [body(text, ascii_only) for text in strings_of(value)]
    assert found == [one for one in bodies if len(one) > LEAST]


@given(VALUES, st.booleans())
@in_small_pieces
def test_the_rest_and_the_strings(value: object, ascii_only: bool) -> None:
    """The rest is JSON of the same shape; each string is to be had in UTF-8, in any pieces."""
    data = json.dumps(value, ensure_ascii=ascii_only).encode()
    strings = LongStrings(data, LEAST, MOST)

    def back(part: object) -> object:
        if isinstance(part, list):
            return [back(inner) for inner in part]
        if isinstance(part, dict):
            return {back(name): back(inner) for name, inner in part.items()}
        number = strings.number_of(part)
        if number is None:
            return part
        chunks = list(strings.chunks(number))
        for chunk in chunks:
            chunk.decode()
        text = b"".join(chunks)
        assert strings.length(number) >= len(text)
        assert not strings.exceeds(number, len(text))
        assert strings.exceeds(number, len(text) - 1)
        return text.decode()

    assert back(json.loads(strings.rest)) == value
    assert json.loads(strings.restored(strings.rest, {})) == value


@given(
    st.lists(TEXTS.map(lambda text: text + (LEAST + 1) * "x"), min_size=1, max_size=4), st.data()
)
@in_small_pieces
def test_other_texts_in_their_place(texts: list[str], data: st.DataObject) -> None:
    """Some get another text, and all others come back as they were."""
    strings = LongStrings(json.dumps(texts).encode(), LEAST, MOST)
    chosen = data.draw(st.sets(st.integers(0, len(texts) - 1)))
    restored = strings.restored(strings.rest, dict.fromkeys(chosen, '"new \\u00e9"'))
    wanted = ["new é" if number in chosen else text for number, text in enumerate(texts)]
    assert json.loads(restored) == wanted


@in_small_pieces
def test_half_a_character() -> None:
    """What JavaScript allows in a string and UTF-8 does not becomes U+FFFD."""
    strings = LongStrings(b'["\\ud83d\\ude00\\ud83d! \\udc00 and some more"]', LEAST, MOST)
    assert b"".join(strings.chunks(0)).decode() == "😀\ufffd! \ufffd and some more"


@given(st.binary(max_size=200), st.binary(max_size=100))
@in_small_pieces
def test_no_json(before: bytes, inside: bytes) -> None:
    """Of anything else either nothing is made, or it is refused: nothing else happens."""
    data = before + b'"' + inside
    try:
        strings = LongStrings(data, LEAST, MOST)
        for number in range(len(spans(data, LEAST))):
            list(strings.chunks(number))
    except ValueError:
        pass


@pytest.mark.parametrize(
    "unit",
    [
        b"\x80",
        b"\\\\",
        b'\\"',
        b"\xf0\x9f\x99\x82",
        b"\\u001f",
        b"\\ud83d",
        b'",',
        b'"',
        b"[",
        b"\\",
    ],
    ids=repr,
)
def test_hostile_texts_take_no_longer(unit: bytes) -> None:
    """Twenty megabytes of anything are looked through in about the time of plain text."""
    data = b'{"x":"' + unit * ((20 << 20) // len(unit))
    begin = time.process_time()
    found = spans(data + b'"}', 4_000)
    strings = len(found)
    if strings and unit != b"\\":
        longest = LongStrings(data + b'"}', 4_000, 30 << 20)
        for number in range(strings):
            assert sum(map(len, longest.chunks(number))) > 0
    assert time.process_time() - begin < 10


def test_many_small_values() -> None:
    """What is left must not be too much to be read."""
    data = json.dumps(list(range(20_000))).encode()
    with pytest.raises(ValueError, match="too many small values"):
        LongStrings(data, LEAST, 50_000)
