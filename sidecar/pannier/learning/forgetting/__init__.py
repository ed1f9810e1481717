"""What a person wants forgotten, and how it is removed."""
