"""The events that decide whether a context gets the memory, and its rendering from disk."""

from __future__ import annotations

import posix

from .clients import SESSION_START, USER_PROMPT

TYPE_CHECKING = False
if TYPE_CHECKING:
    from .clients import Client
    from .framing import Section
    from .options import Options
    from .request import Request


_RESUME = "resume"
_NOT_FRESH = frozenset({_RESUME, "fork"})


def session_start(options: Options, client: Client, request: Request) -> str:
    """What to put before the model at a session start: the memory when the context is fresh, else
    "".

    Raises ValueError for a source that is not understood, and OSError.
    """
    source = options.source or request.source
    if source not in client.fresh:
        if source == _RESUME and client.begins_late and request.session:
            return _owed(options, client, request.session)
        if source in _NOT_FRESH:
            return ""
        raise ValueError(
            f"unknown source of a session start: {source[:80]!r}"
            if source
            else "no source of the session start: give it as JSON on standard input, "
            "or with --source startup"
        )
    if client.injects_on == SESSION_START:
        if client.begins_late and request.session and _had_early(options, client, request.session):
            return ""
        return injection(options, client)
    from .marks import Marks

    Marks(options.home, client.state).leave(request.session)
    return ""


def compacted(options: Options, client: Client, request: Request) -> None:
    """Remember that the session's context has lost the memory, where nobody else will tell that in
    time. Raises OSError."""
    if client.begins_late and request.session:
        from .marks import EARLY, Marks

        marks = Marks(options.home, client.state)
        marks.take(request.session, EARLY)
        marks.leave(request.session)


def _owed(options: Options, client: Client, session: str) -> str:
    """The memory, if a compaction took it out of the session's context, else ""."""
    from .marks import EARLY, Marks

    marks = Marks(options.home, client.state)
    if not marks.take(session):
        return ""
    try:
        text = injection(options, client)
        marks.leave(session, EARLY)
    except BaseException:
        marks.leave(session)
        raise
    return text


def _had_early(options: Options, client: Client, session: str) -> bool:
    """Whether the context got the memory with the resume, before its start is told now: at one
    prompt the client may tell of both."""
    from .marks import EARLY, Marks

    marks = Marks(options.home, client.state)
    marks.take(session)
    return marks.take(session, EARLY)


def user_prompt(options: Options, client: Client, request: Request) -> str:
    """What to put before the model at a prompt: the memory when the context does not hold it yet,
    else "".

    Only for clients whose session start cannot inject. The first prompt of a fresh context gets it,
    and so does the next one when the client dropped it: with a turn that failed or was cancelled,
    or at a compression.
    """
    if client.injects_on != USER_PROMPT:
        return ""
    from .history import read_past
    from .marks import Marks

    session = request.session
    # What a sub-agent is told comes from the agent.
    if not session or request.agent:
        return ""
    marks = Marks(options.home, client.state)
    past = read_past(client, request, options.home)
    fresh = marks.take(session)
    if past is None:
        wanted = fresh
    elif past.holds:
        wanted = False
    else:
        given = marks.given(session)
        # A prompt can be quicker than the session start. A transcript that did not grow since is
        # not written any more, and tells nothing.
        wanted = fresh or (not past.answered if given is None else given != past.size)
        if wanted and given is not None and past.answered and not past.dropped:
            _report_loss(options)
    if not wanted:
        return ""
    try:
        if past is not None:
            marks.give(session, past.size)
        return injection(options, client)
    except BaseException:
        marks.leave(session)
        raise


def _report_loss(options: Options) -> None:
    from .spool import report

    report(
        options,
        "the memory that this session was given did not get into its transcript: where another "
        "hook at prompts adds something, too, the client may keep only that",
    )


def injection(options: Options, client: Client) -> str:
    """The part of the memory that `options` asks for, or "".

    Without a part, the whole of it, whatever the client's limit.
    """
    from .framing import Frame, new_marker, render

    found = sections(options.root)
    marker = new_marker([*(one.text for one in found), options.root], posix.urandom)
    number, count = options.part or (1, 1)
    frame = Frame(
        options.root,
        marker,
        limit=client.limit if options.part else None,
        unit=client.unit,
        parts=count,
        angles_escaped=client.angles_escaped,
    )
    parts = render(found, frame)
    return parts[number - 1] if number <= len(parts) else ""


def sections(root: str) -> list[Section]:
    """The files that are injected, read from the folder `root`, each as text or with a reason."""
    from .framing import FILES, Section, deliverable
    from .reading import Missing, Unavailable, read_beneath
    from .textrules import one_line

    try:
        folder = posix.open(root, posix.O_RDONLY | posix.O_DIRECTORY | posix.O_CLOEXEC)
    except OSError as problem:
        why = f"{one_line(root, 200)} cannot be opened ({problem.strerror})"
        return [Section(file, "", reason=why) for file in FILES if not file.optional]
    found = []
    try:
        for file in FILES:
            try:
                raw = read_beneath(folder, file.path)
            except Missing as problem:
                if not file.optional:
                    found.append(Section(file, "", reason=str(problem)))
                continue
            except Unavailable as problem:
                found.append(Section(file, "", reason=str(problem)))
                continue
            delivered = deliverable(raw.data, file.cap)
            if delivered.text.strip():
                found.append(Section(file, delivered.text, cut=delivered.cut, size=raw.size))
            elif not file.optional:
                why = "there is no text at its beginning" if delivered.cut else "it is empty"
                found.append(Section(file, "", reason=why))
    finally:
        posix.close(folder)
    return found
