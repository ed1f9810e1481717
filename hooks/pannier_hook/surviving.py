"""What must survive a compaction: instructions for whoever writes the summary.

One text, for the agent programs that take such instructions and for agents in Python.
"""

from __future__ import annotations

from .spill import kept_paths

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from .options import Options

MUST_SURVIVE = """\
- The first request of a person and the latest one, word for word. Of those between: what they \
asked, in order, with each correction, limit and preference in the person's own words, and what \
replaced something earlier.
- What is finished, and how it was seen to work. Files, commands, addresses, ids and numbers \
exactly as they stand there.
- What was decided and found out, each with its reason; what was tried and failed, and why, so \
that it is not tried again. Of what a page, a file or a tool claimed, that it claimed it.
- What is under way, what is open, what comes next.
- Paths of files that matter, among them those in which long results are kept (.pannier/spill), \
each with what it holds.
- No secret: where a key or a password is, not what it is."""

MOST_PATHS = 20
"""Files with results that are named, the latest."""


def instructions(paths: Sequence[str] = ()) -> str:
    """What to tell an agent program's own summarizer. `paths`: where results are kept."""
    parts = [
        "The agent will go on with nothing but the summary, so whatever its form, it keeps:",
        MUST_SURVIVE,
        "What stands in a block PANNIER MEMORY need not be told: the agent gets it anew.",
    ]
    if paths:
        parts += ["Long results of this thread are kept in these files, the latest last:", *paths]
    return "\n".join(parts)


def instructions_here(options: Options) -> str:
    """The same with what is kept of the thread of `options`."""
    return instructions(kept_paths(options, MOST_PATHS))
