"""Contents in the forms of several providers: words are words wherever they stand, and base64 is
none."""

from __future__ import annotations

from typing import Any

import pytest
from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, ToolMessage
from langchain_core.tools import tool

from pannier_agents import tokens
from pannier_agents.marks import Marks
from pannier_agents.pruning import pruned, text_of
from pannier_agents.shortening import shortened
from pannier_agents.summary import question

from .conftest import Folders
from .payloads import problems
from .test_fitting import World, agent
from .test_spill import files, result_of

WORDS = "the crates on the quay were counted again, 数え直した, and again; " * 1_000
DATA = "A1b2" * 250_000

WRITTEN: dict[str, Any] = {
    "text": {"type": "text", "text": WORDS},
    "a text of LangChain's": {"type": "text-plain", "text": WORDS, "mime_type": "text/plain"},
    "a file of LangChain's": {"type": "file", "mime_type": "text/plain", "text": WORDS},
    "a document": {
        "type": "document",
        "source": {"type": "text", "media_type": "text/plain", "data": WORDS},
    },
    "a document of parts": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "text", "text": WORDS}]},
    },
    "a search result": {
        "type": "search_result",
        "source": "https://quay.example/crates",
        "title": "Crates",
        "content": [{"type": "text", "text": WORDS}],
    },
}
SHOWN: dict[str, Any] = {
    "LangChain": {"type": "image", "base64": DATA, "mime_type": "image/png"},
    "Anthropic": {"type": "image", "source": {"type": "base64", "data": DATA}},
    "Chat": {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{DATA}"}},
    "Responses": {"type": "input_image", "image_url": f"data:image/png;base64,{DATA}"},
    "made": {"type": "image_generation_call", "id": "ig", "result": DATA},
}
FILES: dict[str, Any] = {
    "Anthropic": {"type": "document", "title": "t", "source": {"type": "base64", "data": DATA}},
    "Chat": {"type": "file", "file": {"filename": "a.pdf", "file_data": DATA}},
    "Responses": {"type": "input_file", "file_data": f"data:application/pdf;base64,{DATA}"},
    "Bedrock": {"document": {"format": "pdf", "source": {"bytes": b"x" * len(DATA)}}},
    "somebody's": {"type": "hologram", "content": {"data": DATA}},
}


def told(*blocks: Any) -> ToolMessage:
    return ToolMessage([*blocks], tool_call_id="c0-0", id="r", name="look")


@pytest.mark.parametrize("form", WRITTEN)
def test_words_are_words(form: str) -> None:
    """They are weighed as such, pruned, shortened, and shown to the summarizer; what is left is a
    text, and no provider objects."""
    message = told(WRITTEN[form])
    right = tokens.of_content(WORDS)
    assert right <= tokens.of_message(message) <= right + 100
    assert WORDS in text_of(message.content)
    for short in (pruned(message, 1_000, 10**9), shortened(message, 1_000, media=True)):
        assert tokens.of_message(short) < 1_000
        assert problems([HumanMessage("go"), agent(0), short]) == []
    more: dict[str, Any] = {"marker": "m", "longest": 10**9, "words": 9, "left": 0}
    [_, asked] = question("", [message], kept=frozenset(), **more)
    assert WORDS in asked.text
    assert "images or files" not in asked.text


@pytest.mark.parametrize("form", WRITTEN)
def test_words_go_into_a_file(folders: Folders, form: str) -> None:
    """Whatever block a tool gives them in."""

    @tool
    def look() -> Any:
        """Look."""
        return [WRITTEN[form]]

    result = result_of(folders, look)
    [file] = files(folders)
    assert WORDS in file.read_text()
    assert len(result.text) < 3_000


@pytest.mark.parametrize("form", SHOWN)
def test_a_picture_is_a_picture(form: str) -> None:
    """It is not weighed by its base64, the summarizer is told of it, and the last resort takes it
    out."""
    message = AIMessage([SHOWN[form]]) if form == "made" else told(SHOWN[form])
    assert tokens.IMAGE <= tokens.of_message(message) < tokens.IMAGE + 50
    assert tokens.of_message(shortened(message, 1_000, media=False)) < 100


@pytest.mark.parametrize("form", FILES)
def test_a_file_of_data(form: str) -> None:
    """It is weighed by a share of its size, and may be left out; it has no words."""
    message = told(FILES[form])
    assert len(DATA) // 40 < tokens.of_message(message) < len(DATA) // 20
    assert tokens.of_message(shortened(message, 1_000, media=False)) < 100
    assert text_of(message.content) == ""


@pytest.mark.parametrize(
    "block",
    [
        {"type": "thinking", "thinking": "hm", "signature": DATA},
        {"type": "redacted_thinking", "data": DATA[:4_000]},
        {"type": "web_search_tool_result", "content": [{"encrypted_content": DATA[:4_000]}]},
    ],
)
def test_what_only_the_provider_reads(block: Any) -> None:
    """It is no picture and no file: it is never left out alone, for it belongs to what it stands
    beside."""
    message = AIMessage([block])
    assert shortened(message, 1_000, media=False) is message
    assert tokens.of_message(message) < 5_000


@pytest.mark.parametrize("form", WRITTEN)
def test_results_of_any_form_fit(form: str) -> None:
    """A model is never sent more than its window has room for."""
    history: list[BaseMessage] = [HumanMessage("Count the crates.", id="task")]
    world, marks = World(), Marks()
    for number in range(4):
        result = told(WRITTEN[form]).model_copy(
            update={"id": f"r{number}", "tool_call_id": f"c{number}-0"}
        )
        history += [agent(number), result]
        now = world.decide(history, marks, 20_000)
        marks = now.marks
        assert now.used <= world.size(20_000).most
    assert world.problems == []
