"""YAML of settings files: plain values, each name once, and one error for whatever is wrong."""

from __future__ import annotations

from typing import Any

import yaml

from pannier.errors import SettingsError
from pannier.shown import brief


def load_yaml(text: str, name: str) -> Any:
    """The text as plain values; dates stay text.

    Raises SettingsError, which begins with `name` and has the line where there is one.
    """
    try:
        return yaml.load(text, _Loader)
    except (yaml.YAMLError, RecursionError) as error:
        mark = getattr(error, "problem_mark", None)
        place = f", line {mark.line + 1}" if mark else ""
        problem = getattr(error, "problem", None) or "is not YAML"
        raise SettingsError(f"{name}{place}: {brief(str(problem), 200)}") from error


class _Loader(yaml.SafeLoader):
    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        """YAML 1.2.2, 3.2.1.1: the keys of a mapping are unique. PyYAML takes the last."""
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        seen = set()
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            if (key.tag, key.value) in seen:
                problem = f"{key.value} stands there twice; join the two"
                raise yaml.MarkedYAMLError(problem=problem, problem_mark=key.start_mark)
            seen.add((key.tag, key.value))
        return node

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """PyYAML lets through whatever the value's own type raises: int("9" * 5000) …"""
        try:
            return super().construct_object(node, deep)
        except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError) as error:
            problem = "this value cannot be read"
            raise yaml.MarkedYAMLError(problem=problem, problem_mark=node.start_mark) from error


_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if not tag.endswith(":timestamp")]
    for first, resolvers in yaml.SafeLoader.yaml_implicit_resolvers.items()
}
