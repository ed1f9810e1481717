"""Asking a model: what is asked, by whom, within which budget, and what can go wrong."""
