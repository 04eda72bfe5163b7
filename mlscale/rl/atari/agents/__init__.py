"""Agents that can be evaluated: the protocol they keep, how they are found, the shipped ones."""
