"""Every answer on disk, by hash of model and prompt: written before it is used, so that nothing paid for is asked for twice."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import tempfile
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from gradfuzz.errors import GradfuzzError
from gradfuzz.seeds.cache import cache_folder

Messages = list[dict[str, str]]


@dataclass(frozen=True)
class Reply:
    """What a server answered, and what it took."""

    content: str
    finish: str  # stop, length, refusal, …
    prompt_tokens: int
    completion_tokens: int
    estimated: bool = False  # the server does not count tokens: these are worked out from lengths

    @property
    def tokens(self) -> int:
        return self.prompt_tokens + self.completion_tokens


class Cache:
    """Replies by hash, a file each."""

    def __init__(self, owner: str, folder: Path | None = None) -> None:
        """`owner`: whose money it is, kept with each reply."""
        self.owner, self.folder = owner, folder or cache_folder() / "llm"
        try:
            self.folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise GradfuzzError(f"the cache {self.folder} cannot be written to ({error.strerror}); set XDG_CACHE_HOME elsewhere") from None

    @staticmethod
    def key(model: str, messages: Messages, form: str) -> str:
        return hashlib.sha256(json.dumps([model, messages, form], ensure_ascii=True).encode()).hexdigest()[:32]

    def find(self, key: str) -> tuple[Reply, bool] | None:
        """(the reply, whether this owner paid for it); None if there is none that can be read."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads((self.folder / f"{key}.json").read_text(encoding="utf-8"))
            reply = Reply(
                str(data["reply"]["content"]), str(data["reply"]["finish"]), int(data["reply"]["prompt_tokens"]),
                int(data["reply"]["completion_tokens"]), bool(data["reply"]["estimated"]),
            )  # fmt: skip
            return reply, data.get("owner") == self.owner
        return None

    def keep(self, key: str, model: str, messages: Messages, reply: Reply) -> None:
        """The file is there as a whole or not at all, and it stays there whatever happens to this process."""
        data: dict[str, Any] = {"owner": self.owner, "model": model, "messages": messages, "reply": asdict(reply)}
        try:
            handle, part = tempfile.mkstemp(dir=self.folder, suffix=".part")
            with os.fdopen(handle, "w", encoding="utf-8", errors="backslashreplace") as file:
                json.dump(data, file)
                file.flush()
                os.fsync(file.fileno())
            os.replace(part, self.folder / f"{key}.json")
        except OSError as error:
            raise GradfuzzError(f"the cache {self.folder} cannot be written to ({error.strerror}); set XDG_CACHE_HOME elsewhere") from None
