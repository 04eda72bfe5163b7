"""Studies of scale in machine learning, one command and one package per study."""

__version__ = "0.1.0"
