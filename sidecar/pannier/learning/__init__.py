"""What an agent learns in one thread, for all threads of its group: `agent-memory/`."""
