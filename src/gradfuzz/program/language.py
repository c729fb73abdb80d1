"""What Program text may say: which namespaces may be called, which names are refused and why."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from fnmatch import fnmatchcase
from functools import cached_property
from pathlib import Path
from typing import Any

_COMMON = Path(__file__).with_name("language.json")


@dataclass(frozen=True)
class Language:
    """The names one target lends to Programs."""

    target: str
    aliases: dict[str, str]
    namespaces: tuple[str, ...]
    refused_names: dict[str, str]
    refused_methods: dict[str, str]
    attributes: tuple[str, ...]
    refused_patterns: dict[str, str] = field(default_factory=dict)  # reason by glob over full names
    modules: dict[str, str] = field(default_factory=dict)  # roots whose module has another name
    trusted: tuple[str, ...] = ()  # the user's own modules, among the namespaces too
    kinds: dict[str, Any] = field(default_factory=dict)  # what names may turn out to be; see targets/base/kinds.py
    wider_calls: dict[str, str] = field(default_factory=dict)  # of calls that convert to a lower precision: those that keep the double one

    @staticmethod
    def read(target: str, own: dict[str, Any]) -> Language:
        """The language of a target from its own file, which adds to what every library refuses."""
        common = json.loads(_COMMON.read_text(encoding="utf-8"))
        return Language(
            target,
            own["aliases"],
            tuple(own["namespaces"]),
            _reasons(common["refused_names"], own.get("refused_names", {})),
            _reasons(common["refused_methods"], own.get("refused_methods", {})),
            tuple(own.get("attributes", ())),
            _reasons(own.get("refused_patterns", {})),
            own.get("modules", {}),
            (),
            own.get("kinds", {}),
            own.get("wider_calls", {}),
        )

    def roots(self) -> set[str]:
        return self._roots

    @cached_property
    def _roots(self) -> set[str]:
        return {space.split(".")[0] for space in self.namespaces} | set(self.aliases)

    def expand(self, path: str) -> str:
        """The full name behind an alias."""
        head, _, rest = path.partition(".")
        return ".".join(filter(None, (self.aliases.get(head, head), rest)))

    def refusal(self, path: str) -> str | None:
        """Why a full API name may not be used; None if it may."""
        if path in self.trusted:
            return None  # a function that the user named
        segments = path.split(".")
        for segment in segments:
            if segment.startswith("_"):
                return f"{path}: private names are not part of the language"
            if segment in self.refused_names:
                return f"{path}: {self.refused_names[segment]}"
        for pattern, reason in self.refused_patterns.items():
            if fnmatchcase(path, pattern):
                return f"{path}: {reason}"
        space = ".".join(segments[:-1])
        if path in self.namespaces:
            return None  # one name by itself, out of a namespace that is not lent as a whole
        if space not in self.namespaces and not self._is_member_of_class(segments):
            return f"{path} is outside the API that Programs may call; allowed: {', '.join(self.namespaces[:8])} …"
        if space.endswith(".Tensor") and segments[-1] in self.refused_methods:
            return f"{path}: {self.refused_methods[segments[-1]]}"
        return None

    def _is_member_of_class(self, segments: list[str]) -> bool:
        """SPACE.NAME.OVERLOAD and its like: one more level below a namespace that ends in `.*`."""
        return ".".join(segments[:-2]) + ".*" in self.namespaces

    def attribute_refusal(self, name: str) -> str | None:
        """Why `x.name` may not be read; None if it may."""
        if name in self.attributes:
            return None
        return f"attribute {ascii(name)[1:-1][:60]} is not part of the language; allowed: {', '.join(self.attributes[:6])} …"

    def method_refusal(self, name: str) -> str | None:
        """Why `x.name()` may not be called, whatever x is; None if that depends on x."""
        if name.startswith("_"):
            return f"method {ascii(name)[1:-1][:60]}: private names are not part of the language"
        reason = self.refused_methods.get(name)
        return f"method {name}: {reason}" if reason else None

    def with_modules(self, modules: tuple[str, ...]) -> Language:
        """The same language with the user's own modules, which the user vouches for; `module:function` lends that function alone."""
        names = tuple(module.replace(":", ".") for module in modules)
        return replace(self, namespaces=self.namespaces + names, trusted=self.trusted + names)


def _reasons(*tables: dict[str, list[str]]) -> dict[str, str]:
    """Reason by name. Tables may share a reason: each adds its names to it."""
    return {name: reason for table in tables for reason, names in table.items() for name in names}
