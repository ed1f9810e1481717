"""What a person sees of learned memory, and does to it: where several rooms meet."""
