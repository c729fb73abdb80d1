"""Bugs: findings gathered by their cause, graded, and judged by people. Pure functions over stored findings; nothing is run."""
