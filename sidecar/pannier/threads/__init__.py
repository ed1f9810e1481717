"""What was said: taken in from the spools, kept in a database, shown, searched and written out."""
