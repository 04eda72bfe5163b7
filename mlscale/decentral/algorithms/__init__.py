"""How replicas descend and mix: one small file for each algorithm over the same parts."""
