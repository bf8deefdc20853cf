"""Model families: what config.json describes, where a checkpoint keeps its weights, the forward pass they share."""
