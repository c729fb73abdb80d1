"""How large a Program and its parts may be: enough for any call worth testing, too little to be a burden to those who read it."""

MAX_TEXT = 1_000_000  # characters
MAX_ELEMENTS = 2**24  # of all inputs together
MAX_CALLS = 64
MAX_STATEMENTS = 512
MAX_RANK = 12
MAX_DEPTH = 60  # of expressions inside each other; well below what Python's own recursion allows
MAX_NODES = 100_000  # of a Program's JSON, listed numbers not counted
MAX_STRING = 1_000  # characters
MAX_WHOLE = 2**128  # whole numbers: beyond what any library takes
