"""A group's `agent-memory/`: read as a person left it, and written."""
