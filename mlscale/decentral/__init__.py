"""Decentralised training: gossip SGD on any graph, Ada, and the benchmark against all-reduce.

Source work: Xie, Yin, Zhou, Oral and Wang 2025 (arXiv 2509.12213), DBench and Ada, of which only
the abstract was to be had: no table of it is quoted, and the rule by which Ada's graph shrinks is
ours after its idea. Graphs, algorithms and metrics come from the papers named beside them.
"""
