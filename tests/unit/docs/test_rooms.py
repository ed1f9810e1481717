"""The rooms of the house, as docs/architecture.md lists them."""

from __future__ import annotations

import ast
import re
from pathlib import Path

CHECKOUT = Path(__file__).parents[3]
PACKAGE = CHECKOUT / "sidecar" / "pannier"
PAGE = (CHECKOUT / "docs" / "architecture.md").read_text()
TABLE = PAGE.partition("| room | owns |")[2].partition("\n\n")[0]
ROWS = [
    re.findall(r"`(\w+)/?`", line.split("|")[1])
    for line in TABLE.splitlines()
    if line.startswith("| `")
]
LEVELS = {
    room: level
    for level, rooms in enumerate(ROWS)
    for room in rooms
    if (PACKAGE / room).is_dir() or (PACKAGE / f"{room}.py").is_file()
}


def rooms() -> set[str]:
    found = (p for p in PACKAGE.iterdir() if not p.name.startswith("__"))
    return {p.stem for p in found if p.suffix == ".py" or (p / "__init__.py").is_file()}


def imports(module: Path) -> set[str]:
    """The rooms that a module imports."""
    found = set()
    for node in ast.walk(ast.parse(module.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module == "pannier":
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and (node.module or "").startswith("pannier."):
            found.add(str(node.module).split(".")[1])
        elif isinstance(node, ast.Import):
            found |= {a.name.split(".")[1] for a in node.names if a.name.startswith("pannier.")}
    return found & rooms()


def test_every_room_is_on_the_page() -> None:
    """Somebody who opens the tree finds each module in the table."""
    assert rooms() == set(LEVELS)


def test_a_room_imports_only_from_those_above_it() -> None:
    """Data flows one way; rooms of one row are neighbours that may know each other."""
    wrong = [
        f"{module.relative_to(PACKAGE)} imports {room}"
        for module in PACKAGE.rglob("*.py")
        if (own := module.relative_to(PACKAGE).parts[0].removesuffix(".py")) in LEVELS
        for room in imports(module)
        if LEVELS[room] > LEVELS[own]
    ]
    assert wrong == []


def test_the_packages_of_learning_import_one_way() -> None:
    """The largest room has an order of its own, which the page tells."""
    table = PAGE.partition("| package | owns |")[2].partition("\n\n")[0]
    rows = [re.findall(r"`(\w+)/?`", line.split("|")[1]) for line in table.splitlines()[2:]]
    levels = {name: level for level, names in enumerate(rows) for name in names}
    learning = PACKAGE / "learning"
    there = {p.stem for p in learning.iterdir() if not p.name.startswith("__") and _is_python(p)}
    assert there == set(levels)
    wrong = [
        f"{module.relative_to(learning)} imports {found}"
        for module in learning.rglob("*.py")
        if (own := module.relative_to(learning).parts[0].removesuffix(".py")) in levels
        for found in re.findall(r"from pannier\.learning\.(\w+)", module.read_text())
        if levels[found] > levels[own]
    ]
    assert wrong == []


def _is_python(path: Path) -> bool:
    return path.suffix == ".py" or (path / "__init__.py").is_file()


def test_the_hook_knows_nothing_of_the_sidecar() -> None:
    """It runs in the container, where nothing else of pannier is."""
    for module in (CHECKOUT / "hooks").rglob("*.py"):
        for node in ast.walk(ast.parse(module.read_text())):
            if isinstance(node, ast.ImportFrom):
                assert (node.module or "").split(".")[0] != "pannier", module
            elif isinstance(node, ast.Import):
                assert all(a.name.split(".")[0] != "pannier" for a in node.names), module
