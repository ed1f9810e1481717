"""The only room that talks to Docker: run, exec, stop, find again."""

from __future__ import annotations

from pannier.engine.containers import Container, Engine, Image
from pannier.engine.spec import ContainerSpec

__all__ = ["Container", "ContainerSpec", "Engine", "Image"]
