"""A spool in which everything lies at once that an agent can put there."""

from __future__ import annotations

import os
import resource
import time
from pathlib import Path

from pannier.reports import read_reports
from pannier.threads.intake import take_in
from tests.unit.threads.handing import Hands, home_with

FILES = 100_000


def fill(hands: Hands) -> None:
    """Links, pipes, sparse files of 10 GB, deep JSON, odd names, and very many files."""
    new = hands.spool() / "new"
    new.mkdir(parents=True)
    there = os.open(new, os.O_RDONLY)
    try:
        for number in range(FILES):
            name = b"%06d" % number
            match number % 20:
                case 0:
                    os.symlink("/dev/zero", name, dir_fd=there)
                case 1:
                    os.mkfifo(name, dir_fd=there)
                case 2:
                    os.mkdir(name, dir_fd=there)
                case kind:
                    name += b"\xff\xfe\n"
                    file = os.open(name, os.O_WRONLY | os.O_CREAT, dir_fd=there)
                    if kind == 3:
                        os.truncate(file, 10 << 30)
                    elif kind == 4:
                        os.write(file, b"[" * 50_000)
                    elif kind == 5:
                        os.write(file, b"[" * 50_000 + b"\n")
                    elif kind < 12:
                        os.write(file, b"x")
                    os.close(file)
    finally:
        os.close(there)


def test_a_hostile_spool_costs_bounded_time(tmp_path: Path) -> None:
    """No round takes much longer than it may, no other group waits for more than one, and in the
    end all of it is put aside."""
    hands = home_with(tmp_path, ("scout", "pilot"))
    fill(hands)
    begin = time.monotonic()
    rounds = 0
    more = True
    longest = 0.0
    while more:
        rounds += 1
        hands.prompt(str(rounds), "pilot", session=f"s{rounds}")
        round_began = time.monotonic()
        more = take_in(hands.home, {}, seconds=2).more
        longest = max(longest, time.monotonic() - round_began)
        assert hands.said("pilot")[-1] == str(rounds)
    whole = time.monotonic() - begin
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{FILES:,} files in {whole:.0f} s, {rounds} rounds, {longest:.1f} s, {memory:.0f} MB")
    assert longest < 6
    assert hands.waiting() == []
    assert len(hands.waiting(of="rejected")) <= 2_000
    assert read_reports(hands.spool()).problem == ""
