"""Bringing pannier's settings into a person's own, as parsed data. Pure.

Ours are taken apart into leaves: the values of keys, and the items of lists. A person's value goes
before ours, but for what decides whether hooks run at all; a person's list gets our items added.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, MutableMapping, MutableSequence, Sequence
from dataclasses import dataclass, field
from typing import Any

HOOK_NAME = "pannier-hook"
HOOKS = "hooks"
"""The key below which every client's hook entries lie."""

_COMMANDS = ("command", "bash")
_WORD = r"[\w@%+=:,./-]+"  # nothing that a shell takes apart
_OWN = re.compile(rf"(?:{_WORD}/)?{HOOK_NAME} [a-z-]+(?=.* --client )(?: {_WORD})*")

Document = MutableMapping[str, Any]
"""A parsed settings file: dicts, or the containers of a library that keeps comments."""


@dataclass(frozen=True)
class Leaf:
    """One value of a settings file: of the key `keys`, or an item of the list there."""

    keys: tuple[str, ...]
    value: Any
    item: bool = False

    @property
    def about_hooks(self) -> bool:
        """Whether memory hangs on it: what switches hooks, their entries, a plugin of ours."""
        ours = self.item and isinstance(self.value, str) and "pannier" in self.value
        return ours or any("hook" in key.lower() for key in self.keys)

    def __str__(self) -> str:
        return ".".join(self.keys)


@dataclass
class Merged:
    """What a merge did: `added` belongs to us from now on, `kept` are a person's values that are
    not what pannier would say, `changed` those that had to give way. `removed`: commands of
    pannier's entries that were taken out without being known from an earlier merge."""

    added: list[Leaf] = field(default_factory=list)
    kept: list[Leaf] = field(default_factory=list)
    changed: list[Leaf] = field(default_factory=list)
    removed: list[str] = field(default_factory=list)


class CannotMerge(ValueError):
    """A person's settings have something else where ours have to go."""


def leaves(settings: Mapping[str, Any], keys: tuple[str, ...] = ()) -> Iterator[Leaf]:
    """Every leaf of some settings, in their order."""
    for key, value in settings.items():
        here = (*keys, key)
        if isinstance(value, Mapping):
            yield from leaves(value, here)
        elif is_list(value):
            yield from (Leaf(here, item, item=True) for item in value)
        else:
            yield Leaf(here, value)


def is_list(value: object) -> bool:
    return isinstance(value, Sequence) and not isinstance(value, str | bytes)


def is_own(node: object) -> bool:
    """Whether this is a hook entry of pannier's, of whatever version: its command is one call of
    the hook, for an event and a client, and nothing beside it."""
    return bool(_commands_of(node))


def own_commands(settings: Mapping[str, Any]) -> list[str]:
    """The commands of all entries of pannier's in some settings, in their order."""
    return _own_below(settings.get(HOOKS))


def _commands_of(node: object) -> list[str]:
    if not isinstance(node, Mapping):
        return []
    said = [node.get(key) for key in _COMMANDS]
    return [str(one) for one in said if isinstance(one, str) and _OWN.fullmatch(one)]


def _own_below(node: object) -> list[str]:
    if own := _commands_of(node):
        return own
    if isinstance(node, Mapping):
        return [command for value in node.values() for command in _own_below(value)]
    if is_list(node):
        assert isinstance(node, Sequence)
        return [command for value in node for command in _own_below(value)]
    return []


def merge(theirs: Document, ours: Mapping[str, Any], earlier: Sequence[Leaf] = ()) -> Merged:
    """Bring `ours` into `theirs`, in place.

    `earlier`: what an earlier merge added. Entries of pannier's that are not among ours any more
    are taken out, and so are those of `earlier`; everything else of a person stays as it is.
    Raises CannotMerge.
    """
    wanted = list(leaves(ours))
    done = Merged()
    there = Counter(own_commands(theirs))
    _drop_own(theirs, wanted)
    known = Counter(c for leaf in earlier if leaf not in wanted for c in _own_below(leaf.value))
    done.removed += (there - Counter(own_commands(theirs)) - known).elements()
    for leaf in earlier:
        if leaf in wanted:
            if _holds(theirs, leaf):
                done.added.append(leaf)
        else:
            _remove(theirs, leaf, ours)
    before = {leaf.keys: leaf.value for leaf in earlier if not leaf.item}
    for leaf in wanted:
        if _holds(theirs, leaf):
            continue
        parent = _parent(theirs, leaf)
        if parent is None:
            done.kept.append(leaf)
            continue
        key = leaf.keys[-1]
        if leaf.item:
            _append(parent, leaf)
        elif key not in parent or before.get(leaf.keys, parent) == parent[key]:
            parent[key] = leaf.value
        elif leaf.about_hooks:
            parent[key] = leaf.value
            done.changed.append(leaf)
        else:
            done.kept.append(leaf)
            continue
        done.added.append(leaf)
    return done


def lacking(actual: Mapping[str, Any], ours: Mapping[str, Any]) -> list[Leaf]:
    """Those of our leaves that are not in some settings, but for hook entries."""
    return [leaf for leaf in leaves(ours) if not _holds(actual, leaf) and not _is_entry(leaf)]


def _is_entry(leaf: Leaf) -> bool:
    return leaf.item and leaf.keys[0] == HOOKS and bool(_own_below(leaf.value))


def _holds(settings: Mapping[str, Any], leaf: Leaf) -> bool:
    node: Any = settings
    for key in leaf.keys:
        if not isinstance(node, Mapping) or key not in node:
            return False
        node = node[key]
    if leaf.item:
        return is_list(node) and any(_same(item, leaf.value) for item in node)
    return _same(node, leaf.value)


def _same(one: Any, other: Any) -> bool:
    return bool(one == other) and isinstance(one, bool) == isinstance(other, bool)


def _parent(settings: Document, leaf: Leaf) -> Document | None:
    """The mapping that is to hold the leaf's key, made where it is missing; None if a person has
    something else there."""
    node = settings
    for key in leaf.keys[:-1]:
        inner = node.setdefault(key, {})
        inner = node[key]  # what a comment-keeping library made of it
        if not isinstance(inner, MutableMapping):
            break
        node = inner
    else:
        if not leaf.item or is_list(node.get(leaf.keys[-1], [])):
            return node
    if leaf.about_hooks:
        raise CannotMerge(f"{leaf} is of another kind there")
    return None


def _append(parent: Document, leaf: Leaf) -> None:
    key = leaf.keys[-1]
    if key in parent:
        parent[key].append(leaf.value)
    else:
        parent[key] = [leaf.value]


def _remove(settings: Document, leaf: Leaf, ours: Mapping[str, Any]) -> None:
    """Take out what we added earlier, and the folders of keys that it leaves empty."""
    nodes: list[Document] = [settings]
    for key in leaf.keys[:-1]:
        inner = nodes[-1].get(key)
        if not isinstance(inner, MutableMapping):
            return
        nodes.append(inner)
    if not _holds(settings, leaf):
        return
    key = leaf.keys[-1]
    if leaf.item:
        found: MutableSequence[Any] = nodes[-1][key]
        del found[next(i for i, item in enumerate(found) if _same(item, leaf.value))]
        if found:
            return
    elif any(o.keys == leaf.keys for o in leaves(ours)):
        return  # it gets another value
    for node, name in zip(reversed(nodes), reversed(leaf.keys), strict=True):
        del node[name]
        if node:
            return


def _drop_own(settings: Document, wanted: Sequence[Leaf]) -> None:
    """Take out our entries that are not `wanted` where they are, and what that leaves empty."""
    hooks = settings.get(HOOKS)
    if isinstance(hooks, MutableMapping) and _drop_below(hooks, wanted, (HOOKS,)) and not hooks:
        del settings[HOOKS]


def _drop_below(node: Document, wanted: Sequence[Leaf], keys: tuple[str, ...] = ()) -> bool:
    """Do so below a node; whether a list of `node` went."""
    went = False
    for key in list(node):
        value = node[key]
        if isinstance(value, MutableMapping):
            if _drop_below(value, wanted, (*keys, key)) and not value:
                del node[key]
        elif is_list(value) and value:
            stay = [leaf.value for leaf in wanted if leaf.item and leaf.keys == (*keys, key)]
            _drop_own_items(value, stay)
            if not value:
                del node[key]
                went = True
    return went


def _drop_own_items(items: MutableSequence[Any], stay: list[Any]) -> None:
    gone = []
    for i, item in enumerate(items):
        if found := next((one for one in stay if _same(item, one)), None):
            stay.remove(found)  # once
        elif is_own(item) or (
            # A matcher that this leaves without hooks goes, too.
            isinstance(item, MutableMapping) and _drop_below(item, ()) and _is_flat(item)
        ):
            gone.append(i)
    for i in reversed(gone):
        del items[i]


def _is_flat(node: Mapping[str, Any]) -> bool:
    return not any(isinstance(value, Mapping) or is_list(value) for value in node.values())
