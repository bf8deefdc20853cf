"""Demos: scripts of scenes that drive the explorer and say something at each."""
