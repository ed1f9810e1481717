"""A real model on a real server: llama.cpp, which holds an answer to a schema by a grammar.

The model is small and a base model: what it says has no sense. The wire is what is looked at.
"""

from __future__ import annotations

import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Literal

import pytest
from pydantic import BaseModel

from pannier.learning.models.answers import ConsolidationAnswer, ExtractionAnswer
from pannier.learning.models.asking import AskError, Question
from pannier.learning.models.langchain_asker import LangChainAsker

CHECKOUT = Path(__file__).parents[2]
KEY = "not-a-real-key"
DATA = "[m1 person] Anything over $40k needs my sign-off."

pytestmark = pytest.mark.timeout(300)


class Verdict(BaseModel):
    """What a message is."""

    kind: Literal["preference", "decision", "correction"]
    widens: bool


def _question(answer: type[BaseModel], most: int, data: str = DATA) -> Question:
    return Question("You read a conversation.", data, answer, most)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The base URL of a server of our own; it ends with the tests."""
    script = CHECKOUT / "scripts" / "model-server"
    found = subprocess.run([script], stdout=subprocess.PIPE, text=True, check=True)
    folder = tmp_path_factory.mktemp("model")
    program = Path(__file__).with_name("model_server.py")
    argv = [found.stdout.strip(), program, folder / "model.gguf", KEY]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True
        )
    assert process.stdin
    assert process.stdout
    try:
        lines = (line for line in process.stdout if line.startswith("listening "))
        first = next(lines, "")
        if not first:
            pytest.fail(f"the model server did not start:\n{(folder / 'log').read_text()}")
        rest = threading.Thread(target=process.stdout.read)
        rest.start()
        yield f"{first.split()[1]}/v1"
        process.stdin.close()
        rest.join()
    finally:
        process.kill()
        process.wait()


def test_an_answer(server: str) -> None:
    """An answer of a real model fits the schema, and its tokens are told."""
    reply = LangChainAsker("openai:gemma", server, KEY).ask(_question(Verdict, 100))
    assert Verdict.model_validate(reply.data)
    assert reply.input > 10
    assert 0 < reply.output <= 100


@pytest.mark.parametrize("answer", [ExtractionAnswer, ConsolidationAnswer])
def test_the_schemas_of_learning(server: str, answer: type[BaseModel]) -> None:
    """Its grammar takes both of learning's schemas; an answer that has no room is told as one."""
    with pytest.raises(AskError, match="no room") as caught:
        LangChainAsker("openai:gemma", server, KEY).ask(_question(answer, 4))
    assert caught.value.kind == "answer"


def test_another_key(server: str) -> None:
    """It takes no other key."""
    with pytest.raises(AskError) as caught:
        LangChainAsker("openai:gemma", server, "another").ask(_question(Verdict, 4))
    assert caught.value.kind == "key"


def test_too_long(server: str) -> None:
    """A question that is longer than the window is told as one."""
    with pytest.raises(AskError) as caught:
        LangChainAsker("openai:gemma", server, KEY).ask(_question(Verdict, 4, "word " * 9_000))
    assert caught.value.kind == "too_long"
