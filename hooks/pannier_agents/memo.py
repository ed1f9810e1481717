"""What was computed of an object once, for as long as the object lives."""

from __future__ import annotations

import weakref
from collections.abc import Callable
from typing import Any, Generic, TypeVar

Value = TypeVar("Value")
_ITSELF = object()


class Memo(Generic[Value]):
    """A pure function of one object, which need not be hashable; of an object whose `content` was
    replaced it is computed anew."""

    def __init__(self, compute: Callable[[Any], Value]) -> None:
        self._compute = compute
        self._known: dict[int, tuple[Callable[[], Any], object, Any]] = {}

    def __call__(self, subject: Any) -> Value:
        known = self._known.get(id(subject))
        if known is not None:
            watched, content, value = known
            if watched() is subject and getattr(subject, "content", None) is content:
                found: Value = subject if value is _ITSELF else value
                return found
        return self._computed(subject)

    def _computed(self, subject: Any) -> Value:
        content = getattr(subject, "content", None)
        value = self._compute(subject)
        key = id(subject)
        try:
            watched = weakref.ref(subject, lambda _: self._forget(key))
            # What keeps the object alive would never be forgotten.
            self._known[key] = watched, content, _ITSELF if value is subject else value
        except TypeError:
            pass  # A plain dict cannot be watched.
        return value

    def _forget(self, key: int) -> None:
        known = self._known.get(key)
        if known is not None and known[0]() is None:
            self._known.pop(key, None)
