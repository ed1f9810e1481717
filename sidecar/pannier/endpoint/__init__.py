"""A small scripted model endpoint: what a client would send to its provider comes here."""
