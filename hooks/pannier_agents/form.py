"""What a model is told of the form in which it answers. It is sent beside the tools."""

from __future__ import annotations

from typing import Any

from langchain.agents.structured_output import AutoStrategy, ProviderStrategy, ToolStrategy

from pannier_agents.memo import Memo


def _told(form: object) -> list[dict[str, Any]]:
    if isinstance(form, AutoStrategy):
        form = ToolStrategy(form.schema)  # In either way it is the same schema.
    if isinstance(form, ToolStrategy):
        specs = form.schema_specs
    elif isinstance(form, ProviderStrategy):
        specs = [form.schema_spec]
    else:
        specs = []
    return [
        {"name": one.name, "description": one.description, "parameters": one.json_schema}
        for one in specs
    ]


told_of_form = Memo(_told)
"""For a request's `response_format`: its schemas, each as a tool is described."""
