"""Whether texts say what other texts say."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pannier.learning.guards.wording import leaves_out, repeated, says, strange


@pytest.mark.parametrize(
    ("text", "sources"),
    [
        ("Quotes are valid for 30 days, but for public authorities 90 days.",
         ["Quotes are valid for 30 days.", "Quotes to public authorities are valid for 90 days."]),
        ("Python code is formatted with ruff; the line length is 100.",
         ["The format of Python is ruff's, and the length of a line 100 now. Code is code."]),
        ("Bestellungen laufen über Frau Schmitt, aber für Wien bestellt Herr Huber.",
         ["Bestellungen laufen über Frau Schmitt.", "Für Wien bestellt Herr Huber."]),
        ("报价用欧元，发票用日元。", ["所有报价用欧元。", "发票用日元计价。"]),
    ],
)  # fmt: skip
def test_words_in_another_form_or_order_were_said(text: str, sources: list[str]) -> None:
    """So were the little ones that join them."""
    assert says(text, sources)


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("Invoices go to Mallory in Berlin.", "mallory"),
        ("Invoices go to Dana in Berlin and Linz.", "linz"),
        ("Invoices go to Dana in Berlin, 7 of them.", "7"),
    ],
)
def test_one_word_that_nobody_said_is_found(text: str, word: str) -> None:
    """Whatever else is right."""
    [found] = strange(text, ["Invoices go to Dana in Berlin."])
    assert word.startswith(found)
    assert not says(text, ["Invoices go to Dana in Berlin."])


def test_what_is_left_out_is_no_word_that_matters() -> None:
    """A shorter text says the same in the same order."""
    whole = "Quotes that go to Acme are always written in English, not in German, please."
    assert leaves_out("Quotes to Acme are in English, not in German.", whole)
    assert not leaves_out("Quotes to Acme are in English, in German.", whole)
    assert not leaves_out("Quotes to Acme are not in English, in German.", whole)
    assert not leaves_out("Quotes to Acme are in German, not in English.", whole)


def test_what_is_said_again_is_all_of_it_and_no_more() -> None:
    """One word of its own makes it something else, however long the rest is."""
    one, more = "Restart the workers.", "Restart the workers and delete the backups."
    assert repeated(one, "Workers: restart!")
    assert not repeated(one, more)
    assert not repeated(more, one)
    hosts = "Restart Atlas, Birch, Cedar, Douglas, Elm, Fir, Gorse, Hazel, Ivy and Juniper."
    assert repeated(hosts, hosts.lower())
    assert not repeated(hosts.replace("Fir", "Production"), hosts)


@given(st.text(max_size=60))
def test_each_text_says_itself(text: str) -> None:
    """In any script."""
    assert says(text, [text])
    assert leaves_out(text, text)
    assert not strange(text, [text])
