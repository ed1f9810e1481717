"""The exceptions that a person sees.

Library code raises these; only `pannier.cli` prints them and ends the process.
"""

from __future__ import annotations

import os


class PannierError(Exception):
    """Something a person can mend: a line that says what is wrong, a hint with the way out."""

    exit_code = 1

    def __init__(self, message: str, hint: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint


def reason(error: OSError | UnicodeDecodeError) -> str:
    """Why, without the path: for a message that names it already."""
    if isinstance(error, UnicodeDecodeError):
        return "it is not text in UTF-8"
    return error.strerror or str(error)


def described(error: OSError | PannierError) -> str:
    """What went wrong: of what the system refused, with the path where it said one."""
    if isinstance(error, PannierError):
        return error.message
    path = error.filename
    if isinstance(path, bytes):
        path = os.fsdecode(path)
    return f"{path}: {reason(error)}" if isinstance(path, str) else reason(error)


class UsageError(PannierError):
    """The command was called with something that cannot be meant."""

    exit_code = 2


class HomeNotFound(UsageError):
    """No folder with a `pannier.yaml` was named or found."""


class SettingsError(UsageError):
    """A settings file cannot be read, or says something that is not a setting."""


class UnsafePath(PannierError):
    """A path below a group leads through a link, or is not of the kind that was expected."""


class TooManyEntries(PannierError):
    """A tree holds more than may be looked at."""


class ChangedMeanwhile(PannierError):
    """Somebody else changed a file that was about to be replaced."""


class RefusedMounts(PannierError):
    """The allowlist does not grant what a group asks for."""


class EngineError(PannierError):
    """The engine said no."""


class EngineNotFound(EngineError):
    """No engine answered."""


class ImageNotFound(EngineError):
    """The engine has no such image."""


class ContainerGone(EngineError):
    """The container ended or was removed meanwhile."""


class MountMismatch(EngineError):
    """A started container sees another file under a mount than the plan names."""


class VerifyError(PannierError):
    """A client could not be driven, or did not do what was waited for."""


class Interrupted(PannierError):
    """A signal ended the work before it was done."""

    def __init__(self, number: int) -> None:
        super().__init__("interrupted")
        self.exit_code = 128 + number


class ClientNotKnown(UsageError):
    """No client of this name."""
