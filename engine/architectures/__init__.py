"""Model families: what a config.json describes, where a checkpoint keeps its weights, and the forward pass they share.
"""
