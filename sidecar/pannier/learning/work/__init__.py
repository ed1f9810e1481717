"""The worker: what is due, and doing it so that it outlives its process."""
