"""An image with another program in the place of Claude Code."""

from __future__ import annotations

import io
import subprocess
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def image_with(claude: str, base: str, tag: str) -> Iterator[str]:
    """`base` with this script as `claude`; the tag, for as long as the block lasts."""
    files = {
        "claude": claude,
        "Dockerfile": f"FROM {base}\nUSER root\nCOPY --chmod=755 claude /usr/local/bin/claude\n"
        "USER agent\n",
    }
    context = io.BytesIO()
    with tarfile.open(fileobj=context, mode="w") as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size, info.mode = len(text), 0o755
            archive.addfile(info, io.BytesIO(text.encode()))
    subprocess.run(
        ["docker", "build", "--quiet", "--tag", tag, "-"], input=context.getvalue(), check=True
    )
    yield tag
    subprocess.run(["docker", "image", "rm", "--force", tag], check=True, capture_output=True)
