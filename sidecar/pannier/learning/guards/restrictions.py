"""Whether a change takes back a rule: something that is not to be done, or not without somebody's
word. Pure; knows words, not meanings.

To take away `never`, or a sign-off, or to raise the amount that needs one, lets the agent do more,
just as a licence does.
"""

from __future__ import annotations

import re
from functools import lru_cache

from pannier.learning.guards.senses import narrowing, turned
from pannier.learning.guards.words import normal

TAKES_BACK = "it would take back a rule"


@lru_cache(maxsize=4_096)
def restricts(text: str) -> bool:
    """Whether it says what is not to be done, or what somebody has to do first."""
    return bool(narrowing(text)) or _obliges(normal(text)) or _asks(normal(text))


def loosens(old: str, new: str) -> bool:
    """Whether a text demands less than the one in whose place it comes."""
    if not restricts(old):
        return False
    before, after = normal(old), normal(new)
    return (
        (_asks(before) and not _asks(after))
        or (_obliges(before) and not (_obliges(after) or _asks(after)))
        or (bool(narrowing(old)) and turned(new, [old]) != "")
        or _has_moved(before, after)
    )


def _obliges(text: str) -> bool:
    return _OBLIGES.search(text) is not None


def _asks(text: str) -> bool:
    return _ASKS.search(text) is not None


_OBLIGES = re.compile(
    r"(?<!\w)(?:must|has to|have to|needs?|needed|requires?|required|shall|should|only"
    r"|muss|mussen|soll|sollen|brauch\w*|benotig\w*|erforderlich|notig|nur"
    r"|doit|doivent|devez|il faut|exige\w*|requis\w*|seulement"
    r"|debe|deben|debes|hay que|necesit\w*|requier\w*|solo)(?!\w)"
    r"|必须|需要|须|只|必要|必ず|べき|なければ|だけ|のみ"
)
_ASKS = re.compile(
    r"(?<!\w)(?:sign-?offs?|sign(?:ed|s)? (?:\w+ )?off|signatures?|approv\w*|permission|consent\w*"
    r"|ask|asks|asking|asked|confirm\w*|consult\w*|authori[sz]\w*|(?:check|clear)(?:s|ed)? with"
    r"|go-?ahead|four eyes|second pair of eyes|reviewed"
    r"|freigabe\w*|freigeb\w*|freigegeben|genehmig\w*|zustimm\w*|erlaubnis|frag(?:e|en|t|st)"
    r"|bestatig\w*|rucksprache|unterschr\w*|vier-?augen-?prinzip"
    r"|accord|approb\w*|approuv\w*|valider|validee?s?|validation|demander|demandez|autoris\w*"
    r"|aprob\w*|aprueb\w*|permiso|pregunt\w*|autoriz\w*|firmar|firmad\w*|visto bueno)(?!\w)"
    r"|批准|同意|确认|询问|先问|问过|审批|请示|许可|签字|承認|確認|許可|相談|聞い|聞く"
)

# ---------------------------------------------------------------------------------------- figures

_CLAUSE_ENDS = re.compile(r"[;()，；：、。！？]|[.!?:,](?=\s|$)")
_BOUNDS = re.compile(
    r"(?<!\w)(?:over|above|beyond|more than|up to|at most|maxim\w*|max|limit\w*|below|under"
    r"|less than|from|until|after|before|at least|minim\w*|min|no later than"
    r"|uber|mehr als|bis|hochstens|unter|weniger als|ab|nach|vor|mindestens|wenigstens"
    r"|plus de|jusqu|au plus|moins de|au moins|apres|avant"
    r"|mas de|hasta|como maximo|menos de|al menos|como minimo|despues|antes)(?!\w)"
    r"|超过|以上|最多|以下|至少|以内|まで|超え|以降|最低|少なくとも"
)
_FLOORS = re.compile(
    r"(?<!\w)(?:at least|minim\w*|min|before|mindestens|wenigstens|vor|au moins|avant|al menos"
    r"|como minimo|antes)(?!\w)|至少|最低|少なくとも"
)
"""What lies below is forbidden: such a figure loosens the rule when it becomes smaller."""
_NEAR = 20
"""Characters before a figure."""
_FIGURE = re.compile(
    r"(?<![a-z0-9_.-])[$€£¥]?(\d+(?:[.,:]\d+)*) ?"
    r"(k|tsd|thousand|tausend|m|mio|million\w*|万|萬|億|亿)?(?![a-z0-9_])"
)
_TIMES = {"k": 1e3, "t": 1e3, "m": 1e6, "万": 1e4, "萬": 1e4, "億": 1e8, "亿": 1e8}


def _has_moved(before: str, after: str) -> bool:
    """Whether a figure of a rule became greater; or smaller, where the rule says `at least`."""
    floors, ceilings = set[float](), set[float]()
    for clause in _CLAUSE_ENDS.split(before):
        if _asks(clause) or narrowing(clause) or _BOUNDS.search(clause):
            for match in _FIGURE.finditer(clause):
                is_floor = _FLOORS.search(clause[max(match.start() - _NEAR, 0) : match.start()])
                (floors if is_floor else ceilings).add(_value(match))
    kept = {x for c in _CLAUSE_ENDS.split(after) if not narrowing(c) for x in _figures(c)}
    new = set(_figures(after)) - set(_figures(before))
    raised = any(figure > least for figure in new for least in ceilings - kept)
    return raised or any(figure < most for figure in new for most in floors - kept)


def _figures(text: str) -> list[float]:
    return [_value(match) for match in _FIGURE.finditer(text)]


def _value(match: re.Match[str]) -> float:
    """`40,000` and `40.000` are thousands; else it is a decimal point, or a time's colon."""
    digits, times = match[1], _TIMES.get((match[2] or " ")[0], 1)
    if re.fullmatch(r"\d{1,3}(?:[.,]\d{3})+", digits):
        return float(re.sub(r"[.,]", "", digits)) * times
    whole, _, rest = re.sub(r"[,:]", ".", digits).partition(".")
    return float(f"{whole}.{rest.partition('.')[0] or 0}") * times
