"""Whether a text says the contrary of what it was made from."""

from __future__ import annotations

import pytest

from pannier.learning.guards.senses import (
    TURNED,
    UNLIMITED,
    affirms,
    asserted,
    denies,
    turned,
)


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Never deploy on Fridays.", "Deploy on Fridays."),
        ("Do NOT use tabs in the Atlas repository.", "Use tabs in the Atlas repository."),
        ("I don't want you to send invoices to Berger.", "Invoices are sent to Berger."),
        ("Die Rechnungen gehen nie an Berger.", "Die Rechnungen gehen an Berger."),
        ("Ich möchte nicht, dass Rechnungen an Berger gehen.", "Rechnungen gehen an Berger."),
        ("N'envoyez jamais de factures à Acme.", "Envoyez des factures à Acme."),
        ("No envíes facturas en papel a Acme.", "Envía facturas en papel a Acme."),
        ("不要在周五发布新版本。", "在周五发布新版本。"),
        ("金曜日にはリリースしないでください。", "金曜日にはリリースしてください。"),
        ("Não envie faturas em papel.", "Envie faturas em papel."),
        ("Не выкладывай релиз в пятницу.", "Выкладывай релиз в пятницу."),
        ("금요일에는 배포하지 마세요.", "금요일에 배포하세요."),
    ],
)
def test_a_denial_that_is_gone(said: str, text: str) -> None:
    """What was denied and is said now was turned."""
    assert turned(text, [said]) == TURNED
    assert turned(said, [said]) == ""


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Invoices go to Dana.", "Invoices never go to Dana."),
        ("Invoices go to Dana.", "Invoices do not go to Tom."),
        ("Never deploy without Dana's ok.", "Deploy without Dana's ok."),
    ],
)
def test_a_denial_that_nobody_said(said: str, text: str) -> None:
    """So was what was said and is denied now."""
    assert turned(text, [said]) == TURNED


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Dana owns the checklist, not Tom.", "Tom owns the checklist, not Dana."),
        ("Use tabs in Python instead of spaces.", "Use spaces in Python instead of tabs."),
        ("Nimm 5433 statt 5432.", "Nimm 5432."),
        ("Tabs over spaces.", "Spaces over tabs."),
        ("We moved from Jira to Linear.", "We moved from Linear to Jira."),
    ],
)
def test_changed_places(said: str, text: str) -> None:
    """The same words say the contrary when they change places around a denial, or around `over`."""
    assert turned(text, [said]) == TURNED


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("At least two reviewers.", "At most two reviewers."),
        ("Invoices over $40k need a sign-off.", "Invoices under $40k need a sign-off."),
        ("Disable telemetry in builds.", "Enable telemetry in builds."),
        ("Rechnungen nach Freigabe verschicken.", "Rechnungen vor Freigabe verschicken."),
    ],
)
def test_contraries(said: str, text: str) -> None:
    """So does a word that is the contrary of one that was said."""
    assert turned(text, [said]) == TURNED


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Only for Acme, round invoices down.", "Round invoices down."),
        ("It's always net 30, unless Priya agreed to more.", "Payment terms are always net 30."),
        ("Sauf le vendredi, on déploie à midi.", "On déploie à midi."),
        ("Nur für Acme: Rechnungen abrunden.", "Rechnungen abrunden."),
        ("只给Acme的发票向下取整。", "发票向下取整。"),
        ("Acmeの請求書だけ端数を切り捨てる。", "請求書の端数を切り捨てる。"),
    ],
)
def test_a_limit_that_is_gone(said: str, text: str) -> None:
    """What held for one thing alone does not hold always."""
    found = turned(text, [said])
    assert found in (UNLIMITED, TURNED)
    assert turned(said, [said]) == ""


@pytest.mark.parametrize(
    ("said", "text"),
    [
        ("Never deploy on Fridays.", "Deploys on Fridays are forbidden."),
        ("Dana owns the checklist, not Tom.", "Dana owns the checklist."),
        ("Dana owns the checklist, not Tom.", "The owner of the checklist is Dana, not Tom."),
        ("Never deploy without Dana's ok.", "Deploys need Dana's ok."),
        ("Without a green build we don't merge.", "Merge only with a green build."),
        ("Bitte keine Anhänge an Acme schicken.", "Mails an Acme gehen ohne Anhänge raus."),
        ("Only for Acme, round invoices down.", "For Acme, round invoices down."),
        ("Don't write long emails.", "Emails are kept short."),
        ("It's not urgent, but please send reports on Mondays.", "Reports are sent on Mondays."),
        ("Don't forget to lock the door.", "Lock the door."),
        ("Use tabs, not spaces.", "Use tabs instead of spaces."),
        ("Never use tabs. Well, I changed my mind: use tabs.", "Use tabs."),
        ("Reports have at most two pages.", "Reports are no longer than two pages."),
        ("No, we say guests, not clients.", "Writing clients was wrong: they are called guests."),
        ("Prices come from the Cobalt list, never from the general one.", "Cobalt list: prices."),
        ("It is on port 7654; the client had 5432.", "It is on port 7654, not on 5432."),
        ("Not on 5432, on 5433.", "It is on 5433 (formerly 5432)."),
        ("Parallel test runs hang.", "Do not run tests in parallel."),
        ("不要在周五发布新版本。", "周五不发布新版本。"),
        ("金曜日にはリリースしないでください。", "金曜日のリリースは禁止。"),
    ],
)
def test_the_same_in_other_words(said: str, text: str) -> None:
    """An honest rewording is none of that."""
    assert turned(text, [said]) == ""


def test_what_is_said_last_holds() -> None:
    """What was denied first and said later is said; the other way round it is denied."""
    assert turned("Use tabs.", ["Never use tabs.", "From now on use tabs."]) == ""
    assert turned("Use tabs.", ["From now on use tabs.", "Never use tabs."]) == TURNED


def test_nothing_to_compare() -> None:
    """A text without words, or without sources, says no contrary."""
    assert turned("", ["Never."]) == turned("…", []) == turned("Use tabs.", []) == ""


@pytest.mark.parametrize(
    "text", ["Yes.", "ok, do that", "Ja, genau.", "Oui.", "Sí.", "好的。", "はい、お願いします。"]
)
def test_agreeing(text: str) -> None:
    """An answer that agrees."""
    assert affirms(text)


@pytest.mark.parametrize(
    "text",
    ["Thanks.", "No!", "No, that's not right.", "Nein, gut ist das nicht.", "Go on.", "谢谢"],
)
def test_not_agreeing(text: str) -> None:
    """One that does not."""
    assert not affirms(text)


def test_denying() -> None:
    """An answer that says no."""
    assert denies("No, stop.")
    assert denies("Bitte nicht.")
    assert not denies("Thanks.")


def test_what_a_text_asserts() -> None:
    """Not what it denies, or says to be over."""
    found = asserted("Port 5433, not 5432 (formerly 5431)")
    assert "5433" in found
    assert not {"5432", "5431"} & found
