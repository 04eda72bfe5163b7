"""What an agent does when it explores: one strategy a file."""
