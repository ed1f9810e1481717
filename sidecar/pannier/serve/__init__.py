"""The daemon: keeps groups up, and watches that their containers keep to their plan."""
