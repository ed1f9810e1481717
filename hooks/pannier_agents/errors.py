"""What a person who names a thread or a checkpoint sees."""

from __future__ import annotations


class ThreadError(Exception):
    """Something about a thread; one line that says what, and the way out."""


class UnknownThread(ThreadError):
    """There is no such thread. Nothing was made in its place."""


class UnknownCheckpoint(ThreadError):
    """The thread has no such checkpoint."""


class SummaryError(ThreadError):
    """A history could not be summarized. It stays as it is."""
