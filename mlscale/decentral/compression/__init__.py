"""Shorter forms of what replicas send."""
