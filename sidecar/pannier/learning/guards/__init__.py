"""What keeps out what must not be learned: widening, planted and forgotten text. Pure."""
