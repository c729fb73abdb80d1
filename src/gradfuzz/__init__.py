"""gradfuzz finds wrong gradients in deep-learning libraries and in your own differentiable code.

This file is imported in the target's interpreter too, so it stays empty of imports.
"""

__version__ = "0.1.0"
