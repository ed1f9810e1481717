"""The sidecar: mounts each agent group's own memory, keeps threads, learns from them."""

from pannier_hook import VERSION as __version__

__all__ = ["__version__"]
