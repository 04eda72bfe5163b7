"""What replicas learn: training and test examples, a model, a loss, under one name."""
