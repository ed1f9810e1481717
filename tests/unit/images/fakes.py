"""A client that does not exist, and files for its image."""

from __future__ import annotations

from pannier.clients.client import Client, Endpoint, Link
from pannier.engine.recipes import Sources

CLIENT = Client(
    name="toy",
    title="Toy",
    program=("toy",),
    keys=(),
    instructions_file="TOY.md",
    baked={"/etc/toy/settings.json": "{}", "/usr/bin/toy": Link("/opt/toy")},
    skeleton={".toy/state": "1"},
    endpoint=lambda url: Endpoint(),
    headless=lambda prompt: ("toy", prompt),
    events={},
    fresh=frozenset(),
)

SOURCES = Sources(
    {
        "images/agent/Dockerfile": b"ARG BASE\nFROM ${BASE}\n",
        "images/hook/Dockerfile": b"ARG AGENT\nFROM ${AGENT}\nCOPY pannier/ /pannier/\n",
        "images/node/Dockerfile": b"ARG BASE\nFROM ${BASE}\n",
        "images/toy/Dockerfile": b"ARG AGENT\nARG HOOK\nFROM ${AGENT}\nCOPY rootfs/ /\n",
        "images/toy/launcher": b"#!/bin/sh\n",
        "images/other/Dockerfile": b"FROM scratch\n",
        "hooks/bin/pannier-hook": b"#!/usr/bin/python3 -IS\n",
        "hooks/pannier_hook/main.py": b"",
    }
)
