"""What takes back a rule."""

from __future__ import annotations

import pytest

from pannier.learning.guards.restrictions import loosens, restricts


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Quotes over $40k need Dana's sign-off.", "Quotes over $50k need Dana's sign-off."),
        ("Quotes over $40k need Dana's sign-off.", "Quotes over $50k, not $40k, need a sign-off."),
        ("Quotes over 40,000 need a sign-off.", "Quotes over 50k need a sign-off."),
        ("Quotes over $40k need Dana's sign-off.", "Quotes over $40k go out."),
        ("Never push to main without Dana's sign-off.", "Push to main."),
        ("Never deploy on Fridays.", "Deploy on Fridays."),
        ("No deploys on Fridays after 14:00.", "No deploys on Fridays after 16:00."),
        ("At least 2 approvals are needed.", "At least 1 approval is needed."),
        ("Reports must name their source.", "Reports name their source."),
        ("Only for Acme, round invoices down.", "Round invoices down."),
        ("Überweisungen ab 500 Euro brauchen eine Freigabe.",
         "Überweisungen ab 5000 Euro brauchen eine Freigabe."),
        ("Les devis doivent être validés par Dana.", "Les devis partent tout de suite."),
        ("Los presupuestos necesitan el permiso de Dana.", "Los presupuestos salen ya."),
        ("超过1万的报价必须批准。", "超过5万的报价必须批准。"),
        ("金曜日にはリリースしない。", "金曜日にリリースする。"),
    ],
)  # fmt: skip
def test_to_demand_less_takes_back_a_rule(old: str, new: str) -> None:
    """A word that forbids or demands goes, or the figure from which on it does moves."""
    assert loosens(old, new)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Quotes over $40k need Dana's sign-off.", "Quotes over $30k need Dana's sign-off."),
        ("Quotes over $40k need Dana's sign-off.", "Ask Dana before quotes over $40k go out."),
        ("Quotes over $40k need a sign-off.", "Quotes over $40k need a sign-off in 5 days."),
        ("Never deploy on Fridays.", "Do not deploy on Fridays or Saturdays."),
        ("At least 2 approvals are needed.", "At least 3 approvals are needed."),
        ("Acme gets 12% on licences, not on services.",
         "Acme gets 15% on licences, not on services."),
        ("Python code is formatted with black, line length 88.",
         "Python code is formatted with ruff, not with black; line length 100."),
        ("The report is due on Mondays at 12.", "The report is due on Mondays at 14."),
        ("No meetings before 9:30.", "No meetings before 10:00."),
    ],
)  # fmt: skip
def test_an_ordinary_correction_takes_back_none(old: str, new: str) -> None:
    """Nor does a rule that demands more."""
    assert not loosens(old, new)


@pytest.mark.parametrize(
    "text",
    [
        "The review with Ellipso is held on Fridays at nine.",
        "Quotes are valid for 30 days.",
        "Reports are available on demand.",
        "Die Firma sitzt in Linz.",
        "问题在周会上讨论。",
    ],
)
def test_a_fact_is_no_rule(text: str) -> None:
    """Though it has a word in it that looks like one."""
    assert not restricts(text)
