"""What a container claims, within what the database can hold. Pure."""

from __future__ import annotations

import hashlib

_LONGEST_KEY = 200
_GREATEST = (1 << 63) - 1
_MOST_TOKENS = 1 << 40
"""Of one model call. SQLite adds up millions of such counts; of greater ones it refuses the sum."""


def text(claimed: str) -> str:
    """What JSON can say and UTF-8 cannot (a lone surrogate) becomes U+FFFD."""
    if claimed.isascii():
        return claimed
    try:
        claimed.encode()
    except UnicodeEncodeError:
        return claimed.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return claimed


def key(claimed: str) -> str:
    """A key of a bounded length that is as much its own."""
    if len(claimed) <= _LONGEST_KEY and claimed.isascii():
        return claimed
    return hashlib.blake2b(claimed.encode("utf-8", "surrogatepass"), digest_size=32).hexdigest()


def number(claimed: int) -> int:
    """A time or a place."""
    return max(0, min(claimed, _GREATEST))


def tokens(claimed: int) -> int:
    """A count of tokens."""
    return max(0, min(claimed, _MOST_TOKENS))
