"""Python as a model writes it, read into a Program. Nothing of the text is executed."""

from gradfuzz.llm.reading.read import read_program

__all__ = ["read_program"]
