"""From what was said to candidates: what is read, how it is asked, what is believed. Pure."""
