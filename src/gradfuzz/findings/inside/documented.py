"""What the library's own docstrings say that a finding may hang on: sentences about gradients, NaN and what is left undefined.

They are looked up in the release under test, of the API and of its siblings (its form in place, its module, its functional form), and of
the functions that a label quotes.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator, Mapping
from fnmatch import fnmatchcase
from functools import lru_cache
from importlib import import_module
from typing import Any

from gradfuzz.errors import ProgramError
from gradfuzz.program.language import Language
from gradfuzz.program.model import Program
from gradfuzz.targets.base.evaluate import resolve
from gradfuzz.targets.base.protocol import Target
from gradfuzz.targets.homes import homes

# What a sentence is about that matters to whoever differentiates.
TELLING = re.compile(
    r"\bgradients?\b|\bNaNs?\b|\bsub-?gradient|non-?determinis|differentia|\bundefined\b|\bduplicate|\bnot unique\b|\bbackward pass\b"
    r"|\bbackpropagat|\bautograd\b|full.rank|straight.through|linearly independent"
    r"|\bunchecked\b|\bbounds.check|\bind(ex|ices)\b.{0,40}\bnot (be )?(checked|validated)\b",
    re.IGNORECASE,
)
# Sentences that are kept, and characters of each.
MOST_SENTENCES, MOST_CHARACTERS = 12, 300
_SENTENCE = re.compile(r"(?<=[.!])\s+|\s(?=\.\. )|\s(?=>>> )|\s(?=Args:)|\s(?=Examples?:)")
_CODE = re.compile(r">>> |requires_grad")
# A docstring that lists words in quotes says which ones there are; what an equation or a format has are no words.
_LISTED = re.compile(r"""["'`][a-z_]{3,}["'`]""")
_A_WORD = re.compile(r"[a-z_]{3,}")


def documented(target: Target, api: str, rule: str = "") -> list[str]:
    """Sentences, each behind the name of the function whose docstring says it."""
    language = target.language
    found = [f"{path}: {quote}" for path, quote in _quotes(target.name, api, rule) if quote in _doc(path, language)]
    for path in _siblings(api, language):
        found += [f"{path}: {sentence}" for sentence in _sentences(path, language)]
    return list(dict.fromkeys(found))[:MOST_SENTENCES]


def documented_names(target: Target, func: str) -> list[str]:
    """Names of positional parameters as the docstring's first line has them: `det(A, *, out=None)`. None where it has no such line.

    That of a method leaves out the object whose method it is, and a call of it through its class does not.
    """
    signature = re.match(r"[\w.]+\(([^()]*)[,)]", _doc(func, target.language)) if func[0] != "." else None
    names: list[str] = []
    for part in signature.group(1).split(",") if signature else ():
        name = re.match(r"\s*([A-Za-z_]\w*)\s*(=|:|$)", part)
        if name is None:
            break
        names.append(name.group(1))
    return ["self", *names] if signature and names[:1] != ["self"] and _is_method(func, target.language) else names


def _is_method(path: str, language: Language) -> bool:
    try:
        return inspect.isclass(namespace(path.rpartition(".")[0], language.modules))
    except Exception:  # this release lacks it, or makes it only when asked in another way
        return False


def says(target: Target, api: str, word: str) -> bool:
    """Whether the docstring of an API has a word."""
    return bool(re.search(rf"\b{re.escape(word)}\b", _doc(api, target.language)))


def undocumented(target: Target, api: str, program: Program) -> list[str]:
    """Options given to the API by name that no docstring of it or of its siblings mentions and no signature shows; words given to it that
    none has; its own name where neither it nor the function that it is a form of has a docstring.

    Shrinking has tried to do without them. Python's own methods and what the user lends have none to speak of.
    """
    last, language = api.rsplit(".", 1)[-1], target.language
    if last.startswith("_") or not any(api.startswith(f"{space}.") for space in spaces_of(language)):
        return []
    own = _own(target, api)
    if not own:
        return [last]
    texts = [own, *_inherited(api, language), *(_doc(path, language) for path in _siblings(api, language))]
    calls = [call for call in program.calls() if call.func.rsplit(".", 1)[-1] == last]
    names = [name for call in calls for name, _ in call.kwargs if name not in _signature(api, language)]
    words = [value for call in calls for value in (*call.args, *(v for _, v in call.kwargs)) if isinstance(value, str)]
    listed = [word for word in words if any(map(_LISTED.search, texts)) and _A_WORD.fullmatch(word)]
    return [name for name in dict.fromkeys([*names, *listed]) if not any(re.search(rf"\b{re.escape(name)}\b", text) for text in texts)]


def _inherited(path: str, language: Language) -> list[str]:
    """What the classes say that a class was made from: of them it has the options that all of its kind have."""
    try:
        found = resolve(path, language)
    except (ProgramError, ImportError, AttributeError, TypeError):
        return []
    bases = found.__mro__[1:-1] if inspect.isclass(found) else ()
    return [" ".join((inspect.getdoc(base) or "").split()) for base in bases]


def described(target: Target, api: str) -> bool:
    """Whether an API, or the function that it is a form of, has a docstring."""
    return bool(_own(target, api))


def _own(target: Target, api: str) -> str:
    language = target.language
    return _doc(api, language) or next(filter(None, (_doc(path, language) for path in _forms(api, spaces_of(language)))), "")


def spaces_of(language: Language) -> list[str]:
    """The library's own namespaces: those of Python and what the user lends have no docstrings to speak of."""
    return [space for space in language.namespaces if "*" not in space and space not in language.trusted]


def _forms(api: str, spaces: list[str]) -> Iterator[str]:
    """The function that an API is a form of: without the underscore of a call in place, and beside the class whose method it is."""
    place, _, last = api.rpartition(".")
    for space in dict.fromkeys((place, *(space for space in spaces if place.startswith(f"{space}.")))):
        yield from (f"{space}.{name}" for name in dict.fromkeys((last.rstrip("_"), last)) if f"{space}.{name}" != api)


def _signature(path: str, language: Language) -> frozenset[str]:
    """The names of parameters that a signature shows, as documentation prints it."""
    try:
        return frozenset(inspect.signature(resolve(path, language)).parameters)
    except (ProgramError, ImportError, AttributeError, TypeError, ValueError):
        return frozenset()


def _doc(path: str, language: Language) -> str:
    try:
        return " ".join((inspect.getdoc(resolve(path, language)) or "").split())
    except (ProgramError, ImportError, AttributeError, TypeError):
        return ""


def _sentences(path: str, language: Language) -> Iterator[str]:
    for sentence in _SENTENCE.split(_doc(path, language)):
        if TELLING.search(sentence) and not _CODE.search(sentence):
            yield sentence[:MOST_CHARACTERS]


def _siblings(api: str, language: Language) -> list[str]:
    """The API first, then whatever is called like it but for case, underscores and the namespace."""
    return [api, *(path for path in named_alike(api.rsplit(".", 1)[-1], language) if path != api)]


def named_alike(name: str, language: Language) -> list[str]:
    """Whatever public namespaces have under a name, but for case and underscores."""
    return _by_name(tuple(language.namespaces), tuple(language.modules.items())).get(_plain(name), [])


def _plain(name: str) -> str:
    return name.replace("_", "").lower()


@lru_cache(maxsize=4)
def _by_name(namespaces: tuple[str, ...], modules: tuple[tuple[str, str], ...]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    for space in namespaces:
        for name in _members(space, dict(modules)) if "*" not in space else ():
            found.setdefault(_plain(name), []).append(f"{space}.{name}")
    return found


def _members(space: str, modules: Mapping[str, str]) -> list[str]:
    try:
        return [name for name in dir(namespace(space, modules)) if not name.startswith("_")]
    except Exception:  # this release lacks it, or makes it only when asked in another way
        return []


def namespace(path: str, modules: Mapping[str, str]) -> Any:
    """The module or class behind a namespace."""
    root, *rest = path.split(".")
    place: Any = import_module(modules.get(root, root))
    for part in rest:
        place = getattr(place, part)
    return place


def _quotes(target: str, api: str, rule: str) -> list[tuple[str, str]]:
    """What labels for this API quote, and of which function."""
    rows = homes()[target].data("labels").get("labels", ()) if target in homes() else ()
    fitting = (row for row in rows if "quoted" in row and any(fnmatchcase(n, p) for n in (api, rule) if n for p in row["names"]))
    return [(row["quoted"], row["quote"]) for row in fitting]
