"""A neighbouring Debian release's sources are derived from the machine's own."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from types import ModuleType

import pytest

SCRIPT = Path(__file__).parents[3] / "scripts" / "debian_sources.py"


def _load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("debian_sources", SCRIPT)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


ds = _load()

DEB822 = """\
# the archive of the day
Types: deb deb-src
URIs: http://mirror.invalid/debian/
Suites: bookworm bookworm-updates
 bookworm-backports
Components: main contrib
Signed-By:
 -----BEGIN PGP PUBLIC KEY BLOCK-----
 .
 URIs
 -----END PGP PUBLIC KEY BLOCK-----

Types: deb
# a comment between fields
URIs: http://security.invalid/debian-security
Suites: bookworm-security
Components: main
"""

ONE_LINE = """\
# deb http://commented.invalid/debian bookworm main
deb [arch=amd64 signed-by=/usr/share/keyrings/a.gpg] http://mirror.invalid/debian bookworm main
deb-src http://mirror.invalid/debian bookworm main
deb http://mirror.invalid/debian bookworm-updates main # recent
deb http://security.invalid/debian-security bookworm-security main
deb http://vendor.invalid/tool stable tool
"""

EXPECTED = [
    ("http://mirror.invalid/debian", "trixie"),
    ("http://mirror.invalid/debian", "trixie-updates"),
    ("http://security.invalid/debian-security", "trixie-security"),
]


def _derived(etc: Path) -> list[tuple[str, str]]:
    sources = ds.derive(ds.machine_sources(etc), "bookworm", "trixie")
    assert all(source.components == ("main",) for source in sources)
    return [(source.uri, source.suite) for source in sources]


@pytest.fixture
def etc(tmp_path: Path) -> Path:
    (tmp_path / "sources.list.d").mkdir()
    return tmp_path


def test_a_deb822_file_is_read(etc: Path) -> None:
    """The release, its updates and its security are taken over; backports and sources are not."""
    (etc / "sources.list.d" / "debian.sources").write_text(DEB822)
    assert _derived(etc) == EXPECTED


def test_one_line_sources_are_read(etc: Path) -> None:
    """The older format gives the same, with options and comments passed over."""
    (etc / "sources.list").write_text(ONE_LINE)
    assert _derived(etc) == EXPECTED


def test_what_apt_does_not_read_is_not_read(etc: Path) -> None:
    """A file with another ending, or a stanza that is not enabled, counts for nothing."""
    (etc / "sources.list.d" / "debian.sources.disabled").write_text(DEB822)
    stanza = DEB822.replace("Types: deb", "Enabled: no\nTypes: deb")
    (etc / "sources.list.d" / "off.sources").write_text(stanza)
    with pytest.raises(ds.SourcesError, match="bookworm main"):
        _derived(etc)


def test_a_vendor_alone_is_no_debian(etc: Path) -> None:
    """Another vendor's `stable` suite is not taken for Debian's."""
    (etc / "sources.list").write_text("deb http://vendor.invalid/tool stable tool\n")
    with pytest.raises(ds.SourcesError):
        _derived(etc)


def test_a_list_of_mirrors_is_followed(etc: Path) -> None:
    """Debian's cloud images name their archive in a file of its own."""
    mirrors = etc / "mirrors.list"
    mirrors.write_text("# the nearest first\n\nhttp://near.invalid/debian\nhttp://far.invalid/x\n")
    (etc / "sources.list").write_text(f"deb mirror+file://{mirrors} bookworm main\n")
    assert _derived(etc) == [("http://near.invalid/debian", "trixie")]


def test_an_archive_that_containers_cannot_reach_is_left_out(etc: Path) -> None:
    """A CD or a folder of the machine is no source for an image."""
    lines = ["deb cdrom:[Debian]/ bookworm main", "deb file:/srv/debian bookworm main"]
    (etc / "sources.list").write_text("\n".join([*lines, ONE_LINE]))
    assert _derived(etc) == EXPECTED


def test_what_is_rendered_reads_back_the_same(etc: Path) -> None:
    """The file that is written for apt says what was derived."""
    (etc / "sources.list").write_text(ONE_LINE)
    sources = ds.derive(ds.machine_sources(etc), "bookworm", "bookworm")
    assert list(ds.parse_deb822(ds.render(sources))) == sources


def test_another_distribution_is_told_so_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """On Ubuntu there is no Debian archive to derive from: status 1, one line, no traceback."""
    monkeypatch.setattr(ds, "os_release", lambda: {"ID": "ubuntu", "NAME": "Ubuntu"})
    assert ds.main(["sources", "trixie"]) == 1
    assert capsys.readouterr().err == "error: Ubuntu has no archive of Debian's\n"
