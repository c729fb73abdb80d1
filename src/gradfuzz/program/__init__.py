"""Programs: the data form, the text form, the JSON form, and the numbers in them."""

from gradfuzz.program.codec import from_json, to_json
from gradfuzz.program.language import Language
from gradfuzz.program.model import Call, Let, Program, Ref, Tensor, Values
from gradfuzz.program.parse import parse
from gradfuzz.program.text import to_text

__all__ = [
    "Call", "Language", "Let", "Program", "Ref", "Tensor", "Values",
    "from_json", "parse", "to_json", "to_text",
]  # fmt: skip
