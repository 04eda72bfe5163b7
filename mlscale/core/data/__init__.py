"""Data that more than one study reads: image sets and texts, and where they came from.

Loaders take a folder of the user's first, then an installed package, then the hub, and their
`Source` says which it was.
"""
