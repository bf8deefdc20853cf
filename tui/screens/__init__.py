"""The screens: the explorer, and what opens over it."""
