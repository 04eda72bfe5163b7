"""Who averages with whom: graphs as periodic lists of sparse mixing matrices."""
