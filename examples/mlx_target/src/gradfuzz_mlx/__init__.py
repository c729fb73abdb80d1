"""MLX as a target of gradfuzz: a folder like those of the targets that gradfuzz brings itself, found by its entry point."""
