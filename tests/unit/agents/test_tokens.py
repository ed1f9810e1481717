"""How many tokens something comes to: near what tokenizers count, whatever the language."""

from __future__ import annotations

import gc

import pytest
from hypothesis import given
from hypothesis import strategies as st
from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from pannier_agents import tokens
from pannier_agents.budget import Budget, budget, calibrated
from pannier_agents.memo import Memo
from pannier_agents.settings import Compaction, ContextSettings
from pannier_hook.estimate import estimate

COUNTED = {
    # Text, and what o200k_base and cl100k_base count.
    "English": (
        "The ferry leaves at seven forty every morning, and nobody had told the harbour master. "
        "She counted the crates again: forty-one, one fewer than the list said, and went to ask "
        "the captain.",
        (40, 40),
    ),
    "German": (
        "Die Fähre fährt jeden Morgen um sieben Uhr vierzig ab, und niemand hatte es dem "
        "Hafenmeister gesagt. Sie zählte die Kisten noch einmal: einundvierzig, eine weniger als "
        "auf der Liste.",
        (43, 53),
    ),
    "Russian": (
        "Паром отходит каждое утро в семь сорок, но начальнику порта никто об этом не сказал. "
        "Она ещё раз пересчитала ящики: сорок один, на один меньше, чем в списке.",
        (46, 73),
    ),
    "Chinese": (
        "渡轮每天早上七点四十分出发，港口的负责人却完全不知道这件事。"
        "她又数了一遍箱子：四十一个，比清单上少一个，于是她去问船长。",
        (48, 70),
    ),
    "Japanese": (
        "フェリーは毎朝七時四十分に出ますが、港の責任者は誰からも聞いていませんでした。"
        "彼女はもう一度箱を数えました。四十一個、リストより一つ少ないのです。",
        (55, 75),
    ),
    "Korean": (
        "페리는 매일 아침 일곱 시 사십 분에 떠나지만 항구 책임자는 아무에게서도 그 말을 듣지 "
        "못했다. 그녀는 상자를 다시 세어 보았다. 마흔한 개, 목록보다 하나가 적었다.",
        (55, 93),
    ),
    "code": (
        "def load(path: Path, *, strict: bool = True) -> dict[str, Any]:\n"
        '    """Read it."""\n    with path.open(encoding="utf-8") as file:\n'
        '        rows = json.load(file)["rows"]\n'
        '    return {row["id"]: row for row in rows if strict or row}\n',
        (64, 63),
    ),
    "JSON": (
        '{"id":4211,"name":"harbour","crates":[{"n":1,"kg":12.5},{"n":2,"kg":9.75},'
        '{"n":3,"kg":30.0}],"checked":true,"at":"2026-03-01T07:40:00Z","by":"A. Jensen"}',
        (72, 71),
    ),
    "a listing": (
        "\n".join(
            f"-rw-r--r-- 1 root root {n * 7919} Mar  1 07:4{n} list-{n}.txt" for n in range(6)
        ),
        (154, 154),
    ),
    "base64": (
        "iVBORw0KGgoAAAANSUhEUgAAAAUAAAAFCAYAAACNbyblAAAAHElEQVQI12P4//8/w38GIAXDIBKE0DHxgljNBAAO9"
        "TXL0Y4OHwAAAABJRU5ErkJggg==",
        (66, 67),
    ),
}


@pytest.mark.parametrize("kind", COUNTED)
def test_near_the_count_of_a_tokenizer(kind: str) -> None:
    """At least 0.7 and at most 1.4 of the greater of two tokenizers' counts; a fourth of the
    characters would be 0.2 of it for Chinese."""
    text, counts = COUNTED[kind]
    assert 0.7 <= estimate(text) / max(counts) <= 1.4


@given(st.text(), st.text())
def test_more_text_is_more_tokens(one: str, other: str) -> None:
    """A text counts as much as its two halves, but for the rounding; none counts less than 0."""
    whole = estimate(one + other)
    assert 0 <= estimate(one) <= whole + 1
    assert abs(whole - estimate(one) - estimate(other)) <= 1


def test_calls_count_once() -> None:
    """The arguments of a call count, and once, where the content says them again."""
    call = {"id": "c", "name": "write", "args": {"text": "words and words " * 50}}
    plain = AIMessage("I write.", tool_calls=[call])
    blocks = AIMessage(
        [
            {"type": "text", "text": "I write."},
            {"type": "tool_use", "id": "c", "name": "write", "input": call["args"]},
        ],
        tool_calls=[call],
    )
    assert tokens.of_message(plain) == tokens.of_message(blocks) > 100
    broken = AIMessage(
        "",
        invalid_tool_calls=[
            {"id": "c", "name": "write", "args": "words " * 300, "error": "", "type": None}
        ],
    )
    assert tokens.of_message(broken) > 300


def test_an_image_counts_as_an_image() -> None:
    """Not by the characters of its base64; a signature of reasoning is not counted."""
    image = {"type": "image", "base64": "iVBOR" * 100_000, "mime_type": "image/png"}
    assert tokens.of_message(HumanMessage([image])) < 2_000
    assert tokens.of_message(ToolMessage([image, image], tool_call_id="c")) > 3_000
    thought = {"type": "thinking", "thinking": "hm", "signature": "s" * 10_000}
    assert tokens.of_message(AIMessage([thought])) < 50


def test_tools_count() -> None:
    """The model is told of each tool's name, of what it does and takes."""

    @tool
    def look(place: str, deep: bool = False) -> str:
        """Look for something in the papers of the harbour."""
        return place

    assert 20 <= tokens.of_tools([look]) <= 150
    assert tokens.of_tools([look, look]) == 2 * tokens.of_tools([look])
    assert tokens.of_tools([{"type": "web_search_20250305", "name": "web_search"}]) > 5


def test_a_message_is_counted_once() -> None:
    """And again when its content was replaced; one that is gone is forgotten."""
    counted: list[str] = []

    def count(message: HumanMessage) -> object:
        counted.append(message.text)
        return message

    memo = Memo(count)
    message = HumanMessage("one")
    assert memo(message) is memo(message) is message
    message.content = "two"
    assert memo(message) is message
    assert counted == ["one", "two"]
    del message
    gc.collect()
    assert not memo._known


@pytest.mark.parametrize(
    ("settings", "profile", "expected"),
    [
        (ContextSettings(), None, (128_000, 89_600, 111_616)),
        (ContextSettings(), {"max_input_tokens": 200_000}, (200_000, 140_000, 183_616)),
        (ContextSettings(window=100_000), {"max_input_tokens": 200_000}, (100_000, 70_000, 83_616)),
        (ContextSettings(window=100_000), {"max_input_tokens": 50_000}, (50_000, 33_616, 33_616)),
        (
            ContextSettings(
                window=24_000,
                compaction=Compaction(reserve_tokens=16_000, keep_recent_tokens=4_000),
            ),
            None,
            (24_000, 8_000, 8_000),
        ),
        (ContextSettings(), {"max_input_tokens": 8_000}, (8_000, 4_000, 4_000)),
    ],
)
def test_the_budget_of_a_model(
    settings: ContextSettings, profile: dict[str, int] | None, expected: tuple[int, int, int]
) -> None:
    """The smaller window counts, and its reserve is honoured; a small model is left room for the
    kept tail as well."""
    size = budget(settings, profile)
    assert (size.window, size.limit, size.most) == expected
    assert 0 < size.tail(0) < size.limit
    assert size.tail(size.limit) == 0


@given(
    window=st.integers(1_000, 2_000_000),
    percent=st.integers(10, 95),
    reserve=st.integers(0, 100_000),
)
def test_any_budget(window: int, percent: int, reserve: int) -> None:
    """A compaction is due before a request is too large, and that is before the window ends."""
    settings = ContextSettings(
        compaction=Compaction(trigger_percent=percent, reserve_tokens=reserve)
    )
    size = budget(settings, {"max_input_tokens": window})
    assert size.limit <= size.most <= size.window == window
    assert size.most >= window // 2
    assert isinstance(size, Budget)


@pytest.mark.parametrize(
    ("estimated", "reported", "factor"),
    [(100, None, 1), (0, 50, 1), (100, 0, 1), (100, 150, 1.5), (100, 10, 2 / 3), (100, 9_000, 2)],
)
def test_what_a_provider_counts(estimated: int, reported: int | None, factor: float) -> None:
    """It scales the estimate, within bounds: a count that cannot be does no harm."""
    assert calibrated(estimated, reported) == factor
