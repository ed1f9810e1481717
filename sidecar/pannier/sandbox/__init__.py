"""What became of containers: their lives, who was attached to them, what they used."""
