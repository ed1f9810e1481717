"""What is said about a memory."""

from __future__ import annotations

import dataclasses

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.unit.memory.trees import CONCEPT, SECRET, said, scaffold, tree_of, with_map

from pannier.memory.check import check
from pannier.memory.tree import CAPS, Node, Tree

PEOPLE = {
    "index.md": with_map("[People](people/index.md) - who is who"),
    "people/index.md": "# People\n\n* [Dana](dana.md) - leads Atlas\n",
    "people/dana.md": CONCEPT,
}


def test_a_fresh_scaffold_and_a_kept_memory_are_clean() -> None:
    """What the hook makes, and what follows its rules, gives no finding."""
    assert said({}) == []
    assert said(PEOPLE) == []


def test_up_to_the_cap_nothing_is_said() -> None:
    """In characters after the text rules, as the hook counts: not in bytes."""
    fits = "é" * CAPS["index.md"] + "\x07"
    assert [line for line in said({"index.md": fits}) if " over-cap " in line] == []


def test_a_given_file_is_over_the_cap_also_when_it_looks_binary() -> None:
    """The hook removes control characters and gives the rest."""
    found = [line.split()[:3] for line in said({"index.md": "\0" + "x" * 16_001})]
    assert ["index.md:", "error", "over-cap"] in found


@pytest.mark.parametrize("path", ["index.md", "system/definition.md"])
@pytest.mark.parametrize(
    ("extra", "words"),
    [(1, "by 1 character:"), (2_345, "by 2,345 characters"), (80_000, "by at least 49,536")],
)
def test_each_file_that_is_given_has_its_cap(path: str, extra: int, words: str) -> None:
    """A file too long to be read whole is over by at least what was read of it."""
    text = "-" + "x" * (CAPS[path] + extra - 1)
    (line,) = (line for line in said({path: text}) if " over-cap " in line)
    assert line.startswith(f"{path}: error over-cap over the cap {words}")


def test_other_files_have_no_cap() -> None:
    """They are read when they are needed."""
    assert said({**PEOPLE, "people/dana.md": CONCEPT + "word " * 10_000}) == []


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("# Dana\n", ":1 warning type concept without type: it has no frontmatter"),
        ("", ":1 warning type concept without type: it has no frontmatter"),
        ("---\n---\n", ":1 warning type concept without type"),
        ("---\ntitle: Dana\n---\n", ":1 warning type concept without type"),
        ("---\ntitle: Dana\ntype:\n---\n", ":3 warning type concept without type"),
        ("---\ntitle: Dana\ntype: ' '\n---\n", ":3 warning type concept without type"),
        ("---\ntype: [person]\n---\n", ":2 warning type concept without type"),
        ("---\ntype: person\nx: [\n---\n", ":4 warning frontmatter frontmatter cannot be read"),
        ("---\na: b: c\n---\n", ":2 warning frontmatter frontmatter cannot be read: mapping"),
        ("---\ntype: person\n", ":1 warning frontmatter frontmatter cannot be read: it is not cl"),
        ("---\n- type\n---\n", ":1 warning frontmatter frontmatter cannot be read: it is not ma"),
        ("---\na: \x07\n---\n", ":1 warning type concept without type"),
    ],
)
def test_a_concept_needs_a_type(text: str, line: str) -> None:
    """The finding names the line where the type is, or where YAML goes wrong."""
    (found,) = said({**PEOPLE, "people/dana.md": text})
    assert found.startswith(f"people/dana.md{line}")


def test_unknown_types_and_keys_are_fine() -> None:
    """There is no registry; numbers, dates and v0.2's keys are nobody's business."""
    text = "---\nverified: true\ngenerated: {by: a, at: 2026-13-45}\ntype: Quux frob\n<<: 1\n---\n"
    assert said({**PEOPLE, "people/dana.md": text}) == []


def test_reserved_names_are_no_concepts() -> None:
    """`index.md` and `log.md` need no type in any folder, and a log needs no link."""
    assert said({**PEOPLE, "log.md": "# Log\n", "people/log.md": "## 2026-11-29\n"}) == []


def test_a_file_that_no_link_reaches_is_named() -> None:
    """Any file, however deep; what is reached by way of a concept is reached."""
    files = {
        **PEOPLE,
        "people/dana.md": CONCEPT + "[Ada](ada.md)",
        "people/ada.md": CONCEPT,
        "people/eve.md": CONCEPT,
        "people/data.csv": "a,b\n",
    }
    assert said(files) == [
        "people/data.csv: warning unreached no link leads here from the root index",
        "people/eve.md: warning unreached no link leads here from the root index",
    ]


def test_of_a_forgotten_index_only_the_index_is_named() -> None:
    """One link is missing, so there is one finding; also when indexes link to each other."""
    files = {
        "people/index.md": "[D](dana.md) [T](team/)",
        "people/dana.md": CONCEPT,
        "people/team/index.md": "[up](../index.md) [E](eve.md)",
        "people/team/eve.md": CONCEPT,
    }
    assert said(files) == [
        "people/index.md: warning unreached no link leads here from the root index, "
        "nor to 3 files behind it"
    ]


def test_what_two_forgotten_indexes_share_is_counted_once() -> None:
    """By the first of them."""
    files = {
        "a/index.md": "[x](../b/x.md)",
        "b/index.md": "[x](x.md) [y](y.md)",
        "b/x.md": CONCEPT,
        "b/y.md": CONCEPT,
    }
    assert [line.rpartition(", ")[2] for line in said(files)] == ["nor to 1 file behind it"] * 2


def test_folders_with_concepts_need_an_index() -> None:
    """Those above as well; a folder of other files does not."""
    files = {"index.md": with_map("[a](a/b/c.md) [p](img/p.svg)"), "a/b/c.md": CONCEPT}
    assert said({**files, "img/p.svg": "<svg/>"}) == [
        "a: warning no-index folder without index.md",
        "a/b: warning no-index folder without index.md",
    ]


def test_broken_links_are_named_with_their_line() -> None:
    """Each target once; what is in code or points to the web is none."""
    text = CONCEPT + (
        "[a](gone.md) and\n![b](/no/such.png) [a](gone.md)\n\n"
        "`[x](y.md)` [w](https://x.example/y.md) <mailto:a@b.example> [s](#dana)\n\n"
        "```\n[x](z.md)\n```\n\n- item\n  [c][ref]\n\n[ref]: other/deep.md 'title'\n"
    )
    assert said({**PEOPLE, "people/dana.md": text}) == [
        "people/dana.md:6 warning broken-link broken link: gone.md",
        "people/dana.md:7 warning broken-link broken link: /no/such.png",
        "people/dana.md:16 warning broken-link broken link: other/deep.md",
    ]


def test_links_lead_to_files_by_every_way_of_writing_them() -> None:
    """From the root, relative, encoded, with anchor, without `.md`, to a folder."""
    ways = [
        "dana.md", "./dana.md", "../people/dana.md", "/people/dana.md", "/people/dana", "dana#a",
        "dana.md#at-work", "dana.md?x", "%64ana.md", "../people", "/people/", "/", "..",
        "<my file.md>",
        "/workspace/agent/memory/people/dana.md", "../../memory/people/dana.md",
    ]  # fmt: skip
    text = CONCEPT + "\n\n".join(f"[x]({way})" for way in ways)
    assert said({**PEOPLE, "people/dana.md": text, "people/my file.md": CONCEPT}) == []


def test_a_link_out_of_the_memory_is_a_note_not_a_broken_link() -> None:
    """It may well lead somewhere, which is not looked at."""
    text = CONCEPT + "[f](../../files/x) [e](/workspace/extra/notes/a.md) [p](/../../etc/passwd)"
    assert said({**PEOPLE, "people/dana.md": text}) == [
        "people/dana.md:6 note outside link leaves memory: ../../files/x",
        "people/dana.md:6 note outside link leaves memory: /../../etc/passwd",
        "people/dana.md:6 note outside link leaves memory: /workspace/extra/notes/a.md",
    ]


def test_a_secret_is_told_by_line_and_kind_only() -> None:
    """Not even by a broken link on its line, or by a YAML error that quotes it."""
    text = f"---\ntype: 'note\npassword: {SECRET}\n---\n\n[{SECRET}]({SECRET}.md) token: {SECRET}\n"
    found = said({**PEOPLE, "people/dana.md": text})
    assert "people/dana.md:3 warning secret likely a secret: password" in found
    assert "people/dana.md:6 warning secret likely a secret: token" in found
    assert "people/dana.md:6 warning broken-link broken link" in found
    assert SECRET not in "".join(found)


def test_hidden_names_are_only_searched_for_secrets() -> None:
    """Tools keep their things there; an `.env` with a key is worth a word all the same."""
    files = {**PEOPLE, ".env": f"API_KEY={SECRET}\n", "people/.draft.md": "[x](gone.md)"}
    assert said(files) == [".env:1 warning secret likely a secret: api key"]


@pytest.mark.parametrize("kind", ["symbolic link", "FIFO", "socket", "device", "folder"])
def test_a_given_file_that_is_no_file_is_an_error(kind: str) -> None:
    """The hook does not give it to the agent."""
    files = scaffold()
    del files["system/definition.md"]
    nodes = {**tree_of(files).nodes, "system/definition.md": Node(kind)}  # type: ignore[arg-type]
    found = [(f.path, f.level) for f in check(Tree(nodes))]
    assert ("system/definition.md", "error") in found


def test_a_link_in_the_place_of_the_system_folder_is_an_error() -> None:
    """Then the rules are not given."""
    tree = Tree({"": Node("folder"), "system": Node("symbolic link")})
    errors = [f"{f.path}: {f.message}" for f in check(tree) if f.level == "error"]
    assert errors == ["system: is no folder, so system/definition.md is not given to the agent"]


def test_odd_files_are_warnings_where_nothing_is_given() -> None:
    """Links, pipes, sockets, binaries, huge files; a link through a link is not called broken."""
    files = {
        **PEOPLE,
        "people/index.md": "[D](dana.md) [s](shot.png) [b](big.md) [l](link/x.md) [f](fifo)",
        "people/shot.png": b"\x89PNG\0",
        "people/big.md": CONCEPT + "é" * 40_000,
        "people/dana.md": CONCEPT.encode() + b"caf\xe9\n",
    }
    odd = {"people/link": Node("symbolic link"), "people/fifo": Node("FIFO")}
    assert said(files, **odd) == [
        "people/big.md: warning huge is 80,029 bytes; only the first 65,536 were looked at",
        "people/dana.md:6 warning encoding holds bytes that are not UTF-8",
        "people/fifo: warning odd is a FIFO, not a regular file",
        "people/link: warning odd is a symbolic link, not a regular file",
        "people/shot.png: warning binary is binary, not text; what is in it was not looked at",
    ]


def test_what_cannot_be_read_is_an_error() -> None:
    """Nothing is said about what it might lead to."""
    found = said({}, people=Node("folder", unread="Permission denied"))
    assert found == ["people: error unreadable cannot be read: Permission denied"]


def test_a_missing_file_of_the_scaffold_is_made_by_the_next_start() -> None:
    """So it is a warning, and not every file is said to be unreachable besides."""
    found = check(tree_of({"people/index.md": "# People\n"}))
    assert [(f.path, f.level, f.rule) for f in found] == [
        ("index.md", "warning", "missing"),
        ("system/definition.md", "warning", "missing"),
    ]


def test_what_was_not_seen_is_not_judged() -> None:
    """With too many names or texts, links and reach say nothing wrong, and that is said."""
    tree = tree_of({**PEOPLE, "people/index.md": "[x](gone.md)"})
    many = dataclasses.replace(tree, too_many="holds more than 9 names")
    assert [(f.path, f.rule) for f in check(many)] == [("", "too-much")]
    skipped = check(dataclasses.replace(tree_of({**scaffold(), **PEOPLE}), skipped=2))
    assert [f.message for f in skipped] == ["2 files not looked at: all together they are too much"]


def test_many_findings_of_one_kind_in_one_file_are_folded() -> None:
    """The first ones, and how many more there are."""
    links = "\n".join(f"[x](gone{n}.md)" for n in range(500))
    found = said({**PEOPLE, "people/dana.md": CONCEPT + links})
    assert len(found) == 20
    assert found[0] == "people/dana.md:6 warning broken-link broken link: gone0.md"
    assert found[-1] == "people/dana.md:25 warning broken-link 481 more like these"


NAMES = st.sampled_from(
    ["a", "b", "index.md", "log.md", "x.md", ".git", "é", "n\nl", "\udcff", "z"]
)
PATHS = st.lists(NAMES, min_size=1, max_size=4).map("/".join)
TARGETS = st.one_of(
    PATHS,
    st.text(max_size=20),
    st.builds("{}{}#{}".format, st.sampled_from(["/", "../", "./"]), PATHS, NAMES),
)
PIECES = st.one_of(
    st.builds("[x](<{}>)\n\n".format, TARGETS),
    st.sampled_from(
        ["---\n", "type: a\n", "a: [", "*", "`", "```\n", f"password: {SECRET}\n", "- "]
    ),
    st.text(max_size=30),
)
CONTENTS = st.one_of(st.binary(max_size=60), st.lists(PIECES, max_size=8).map("".join))


@given(st.dictionaries(PATHS, CONTENTS, max_size=8))
@settings(max_examples=200, deadline=None)
def test_whatever_lies_in_a_tree_each_finding_is_one_printable_line(
    files: dict[str, str | bytes],
) -> None:
    """In order of path and line, about something that is there or should be; no secret is said."""
    encoded = {
        path: c.encode("utf-8", "replace") if isinstance(c, str) else c for path, c in files.items()
    }
    tree = tree_of(encoded)
    found = check(tree)
    assert all(f.message.isprintable() and SECRET not in f.message for f in found)
    assert all(f.path in tree.nodes or f.rule == "missing" for f in found)
    places = [(f.path.split("/"), f.line or 0) for f in found]
    assert places == sorted(places)
    for finding in found:
        if finding.line:
            lines = encoded[finding.path].count(b"\n") + encoded[finding.path].count(b"\r") + 1
            assert finding.line <= lines


@given(st.integers(0, 12), st.randoms(use_true_random=False), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_tree_that_keeps_the_rules_is_clean_and_loses_it_with_any_link(
    count: int, random: object, drop: bool
) -> None:
    """Each folder with its index, each file with a line in it: no finding. One line less: one."""
    rng = random  # hypothesis's, so that a failure can be repeated
    folders = [""]
    files: dict[str, str] = scaffold()
    for n in range(count):
        above = folders[rng.randrange(len(folders))]  # type: ignore[attr-defined]
        name = f"{above}f{n}/" if rng.random() < 0.5 else f"{above}c{n}.md"  # type: ignore[attr-defined]
        listed = name + "index.md" if name.endswith("/") else name
        files[f"{above}index.md"] += f"\n* [n{n}](/{listed}) - x"
        files[listed] = "# Index\n" if name.endswith("/") else CONCEPT
        if name.endswith("/"):
            folders.append(name)
    assert check(tree_of(files)) == ()
    if drop and count:
        path = next(p for p in files if "\n* [n0]" in files[p])
        files[path] = files[path].replace("* [n0](", "* n0 (")
        assert [f.rule for f in check(tree_of(files))] == ["unreached"]
