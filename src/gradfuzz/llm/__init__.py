"""Programs that a language model writes: asked for, read as data, gated, run as seeds, and judged by what they bring."""
