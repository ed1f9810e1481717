"""From candidates to a new memory: what is asked, and what of the edits is done."""
