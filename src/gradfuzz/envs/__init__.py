"""Environments: any release of a library in a virtual environment of its own, made once and remembered by name."""
