"""Editing the allowlist as the text that a person wrote. Pure.

Only the lines that change are touched, so comments and order stay. Each edit is read back: what
cannot be edited in this way is refused with the lines to write by hand, and nothing is lost.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import yaml

from pannier.errors import PannierError
from pannier.mounts.allowlist import Allowlist, Entry, parse_allowlist


@dataclass(frozen=True)
class _Edit:
    """Replace what stands between two offsets."""

    start: int
    end: int
    text: str


def with_entry(text: str, name: str, number: int | None, entry: Entry) -> str:
    """The file `name` with `entry` in place of entry `number`, or added at the end.

    Of an existing entry only what differs is changed. Raises SettingsError if the text is broken,
    PannierError if it is written in a way that cannot be edited.
    """
    before = parse_allowlist(text, name)
    entries = list(before.allow)
    if number is None:
        entries.append(entry)
        edit = partial(_append, text, entry)
    else:
        old, entries[number] = entries[number], entry
        edit = partial(_change, text, number, old, entry)
    wanted = before.model_copy(update={"allow": tuple(entries)})
    return _checked(edit, name, wanted, f"Write this entry by hand:\n{as_yaml(entry)}")


def without_entry(text: str, name: str, number: int) -> str:
    """The file `name` without entry `number` and the comments inside of it. Raises as above."""
    before = parse_allowlist(text, name)
    entries = [e for i, e in enumerate(before.allow) if i != number]
    edit = partial(_remove, text, number)
    wanted = before.model_copy(update={"allow": tuple(entries)})
    return _checked(edit, name, wanted, "Remove the entry by hand.")


def with_block(text: str, name: str, patterns: tuple[str, ...]) -> str:
    """The file `name` with these blocked names added to its own. Raises as above."""
    before = parse_allowlist(text, name)
    more = [p for p in dict.fromkeys(patterns) if p not in before.block]
    if not more:
        return text
    wanted = before.model_copy(update={"block": (*before.block, *more)})
    way_out = f"Write these names by hand, under block: {', '.join(more)}"
    return _checked(partial(_block, text, more), name, wanted, way_out)


def as_yaml(entry: Entry, indent: str = "  ") -> str:
    """An entry as an item of a YAML list, defaults left out."""
    lines = [f"{key}: {_value(value)}" for key, value in _settings(entry).items()]
    return f"{indent}- " + f"\n{indent}  ".join(lines) + "\n"


def _settings(entry: Entry) -> dict[str, Any]:
    """What an entry says beside the defaults, by the names of the file."""
    return entry.model_dump(mode="json", by_alias=True, exclude_defaults=True)


def _value(value: object) -> str:
    """In one line: escaped where PyYAML would break it, or would write what it misreads (NEL)."""
    text = _dumped(value, allow_unicode=True)
    return text if text.isprintable() else _dumped(value, default_style='"')


def _dumped(value: object, **style: Any) -> str:
    text: str = yaml.safe_dump(
        value, default_flow_style=True, width=float("inf"), sort_keys=False, **style
    )
    return text.removesuffix("\n").removesuffix("\n...")


def _checked(edit: Callable[[], str], name: str, wanted: Allowlist, way_out: str) -> str:
    try:
        text = edit()
        if parse_allowlist(text, name) == wanted:
            return text
    except (PannierError, LookupError, AttributeError, TypeError, ValueError):
        pass
    raise PannierError(f"{name} is written in a way that cannot be edited here", way_out)


def _append(text: str, entry: Entry) -> str:
    root = yaml.compose(text, yaml.SafeLoader)
    allow = _find(root, "allow")
    if allow is None:
        return _lines(text) + f"allow:\n{as_yaml(entry)}"
    if isinstance(allow, yaml.SequenceNode) and allow.value and not allow.flow_style:
        indent = " " * allow.start_mark.column
        return _insert_after(text, _end(allow.value[-1]), as_yaml(entry, indent))
    if isinstance(allow, yaml.SequenceNode) and allow.value:
        at = _end(allow.value[-1])
        return text[:at] + f", {_value(_settings(entry))}" + text[at:]
    # `allow:` or `allow: []`, perhaps with a comment behind it.
    start, end = allow.start_mark.index, allow.end_mark.index
    return _insert_after(text[:start] + text[end:], start, as_yaml(entry))


def _block(text: str, names: list[str]) -> str:
    block = _find(yaml.compose(text, yaml.SafeLoader), "block")
    if block is None:
        return _lines(text) + f"block:\n{_items(names, '  ')}"
    if isinstance(block, yaml.SequenceNode) and block.value and not block.flow_style:
        indent = " " * block.start_mark.column
        return _insert_after(text, _end(block.value[-1]), _items(names, indent))
    if isinstance(block, yaml.SequenceNode) and block.value:
        at = _end(block.value[-1])
        return text[:at] + "".join(f", {_value(n)}" for n in names) + text[at:]
    start, end = block.start_mark.index, block.end_mark.index
    return _insert_after(text[:start] + text[end:], start, _items(names, "  "))


def _items(names: list[str], indent: str) -> str:
    return "".join(f"{indent}- {_value(name)}\n" for name in names)


def _change(text: str, number: int, old: Entry, new: Entry) -> str:
    item = _find(yaml.compose(text, yaml.SafeLoader), "allow").value[number]
    was, now = _settings(old), _settings(new)
    edits, new_keys = [], []
    for key, value in now.items():
        if was.get(key) == value:
            continue
        node = _find(item, key)
        if node is None:
            new_keys.append(_new_key(text, item, f"{key}: {_value(value)}"))
        elif isinstance(node, yaml.SequenceNode) and node.value and not node.flow_style:
            column = " " * node.start_mark.column
            more = "".join(f"{column}- {_value(v)}\n" for v in value if v not in was[key])
            edits.append(_line_after(text, _end(node), more))
        else:
            edits.append(_Edit(node.start_mark.index, node.end_mark.index, _value(value)))
    # From the end; of those at one place the first stays first, and a list goes before a new key.
    ordered = sorted((*edits, *new_keys), key=lambda e: e.start)
    for edit in reversed(ordered):
        text = text[: edit.start] + edit.text + text[edit.end :]
    return text


def _new_key(text: str, item: yaml.MappingNode, line: str) -> _Edit:
    if item.flow_style:
        at = _end(item.value[-1][1])
        return _Edit(at, at, f", {line}")
    return _line_after(text, _end(item), f"{' ' * item.start_mark.column}{line}\n")


def _remove(text: str, number: int) -> str:
    items = _find(yaml.compose(text, yaml.SafeLoader), "allow")
    item = items.value[number]
    if items.flow_style:
        raise ValueError("a list in brackets")
    start = text.rindex("-", 0, item.start_mark.index)
    start = text.rfind("\n", 0, start) + 1
    end = text.find("\n", _end(item))
    return text[:start] + (text[end + 1 :] if end >= 0 else "")


def _find(node: Any, key: str) -> Any:
    """The node behind a key of a mapping; None if there is none."""
    if node is None:
        return None
    return next((value for name, value in node.value if name.value == key), None)


def _end(node: yaml.Node) -> int:
    """Where the last character of a node stands; the comments behind it are not its own."""
    if not isinstance(node, yaml.CollectionNode) or node.flow_style or not node.value:
        return int(node.end_mark.index)
    last = node.value[-1]
    return _end(last[1] if isinstance(last, tuple) else last)


def _line_after(text: str, at: int, lines: str) -> _Edit:
    """Put whole lines after the line that ends with what stands before `at`."""
    if at and text[at - 1] == "\n":
        return _Edit(at, at, lines)
    end = text.find("\n", at)
    return _Edit(len(text), len(text), f"\n{lines}") if end < 0 else _Edit(end + 1, end + 1, lines)


def _insert_after(text: str, at: int, lines: str) -> str:
    edit = _line_after(text, at, lines)
    return text[: edit.start] + edit.text + text[edit.end :]


def _lines(text: str) -> str:
    return text if not text or text.endswith("\n") else f"{text}\n"
