"""Two more looks at a stage of attention weights: as a graph of tokens, and as one map of all heads."""
