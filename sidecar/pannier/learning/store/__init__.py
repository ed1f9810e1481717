"""What learning keeps in `state/`: `learning.db`, the steps in progress, and the locks."""

from __future__ import annotations

from pannier.learning.store.learning import Learning, learning_file, open_learning

__all__ = ["Learning", "learning_file", "open_learning"]
