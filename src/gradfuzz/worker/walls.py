"""The second wall: what a worker does not need it gives up for good, before it takes its first Program.

The first wall is that nothing but listed kinds of objects can be named in a Program. Should something slip through all the same, it
finds itself in a process that can make no file outside its temporary folder, start no program, reach no network, and signal nobody
outside: by Landlock (files, programs, signals) and seccomp (network, and system calls that no library under test has a use for). Both are
Linux's own and need no rights. Where the system lacks one, the worker goes on and says what it could not give up.

A library whose compiled scenarios call a compiler names the profile `compiler` in its about.json: it may start programs, and write
where temporary files go.
"""

from __future__ import annotations

import contextlib
import ctypes
import errno
import glob
import os
import platform
import struct
import sys
import tempfile
from collections.abc import Iterator, Sequence

STRICT, COMPILER, NONE = "strict", "compiler", "none"

# Devices that are no disks: everybody's, and those of accelerators.
DEVICES = ("/dev/null", "/dev/zero", "/dev/full", "/dev/urandom", "/dev/tty", "/dev/nvidia*", "/dev/dri/*", "/dev/kfd")

_PR_SET_NO_NEW_PRIVS = 38


def raise_walls(folder: str, profile: str = STRICT) -> list[str]:
    """Give up what the profile does not need; from now on new files go into `folder`. Returns what could not be given up, and why."""
    if profile == NONE:
        return ["everything: the target asks for no walls"]
    if not sys.platform.startswith("linux"):
        return ["files, programs, network: only Linux lets a process give these up by itself"]
    os.environ["TMPDIR"] = tempfile.tempdir = folder
    writable = [folder, *([_system_temp()] if profile == COMPILER else [])]
    missing = []
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0:
        return ["files, programs, network: the system does not let this process give up rights"]
    try:
        missing += _landlock(libc, writable, programs=profile == COMPILER)
    except OSError as error:
        missing.append(f"files: no Landlock here ({error.strerror})")
    try:
        _seccomp(libc, programs=profile == COMPILER)
    except OSError as error:
        missing.append(f"network: no seccomp here ({error.strerror})")
    return missing


def _system_temp() -> str:
    return next((p for p in ("/tmp", "/var/tmp") if os.path.isdir(p)), "/tmp")


# Landlock: files, programs, signals --------------------------------------------------------------------------------------

_CREATE, _ADD, _RESTRICT = 444, 445, 446  # the same numbers on every architecture
_EXECUTE, _WRITE_FILE = 1 << 0, 1 << 1
# Making, removing, renaming and cutting off files; reading is not given up: libraries load themselves late.
_CHANGES = sum(1 << bit for bit in (1, 4, 5, 6, 7, 8, 9, 10, 11, 12))
_REFER, _TRUNCATE, _IOCTL_DEV = 1 << 13, 1 << 14, 1 << 15  # since versions 2, 3 and 5 of the interface
_TCP = 0b11  # binding and connecting, since version 4
_SCOPES = 0b11  # abstract sockets and signals, since version 6


def _landlock(libc: ctypes.CDLL, writable: Sequence[str], programs: bool) -> list[str]:
    version = _checked(libc.syscall(_CREATE, None, 0, 1))
    changes = _CHANGES | (_REFER if version >= 2 else 0) | (_TRUNCATE if version >= 3 else 0)
    handled = changes | (_IOCTL_DEV if version >= 5 else 0) | (0 if programs else _EXECUTE)
    fields = [handled] + ([_TCP] if version >= 4 else []) + ([_SCOPES] if version >= 6 else [])
    attributes = struct.pack(f"={len(fields)}Q", *fields)
    rules = _checked(libc.syscall(_CREATE, attributes, len(attributes), 0))
    try:
        for path in writable:
            _allow(libc, rules, path, changes)
        for path in (found for pattern in DEVICES for found in glob.glob(pattern)):
            with contextlib.suppress(OSError):
                _allow(libc, rules, path, _WRITE_FILE | (_IOCTL_DEV if version >= 5 else 0))
        _checked(libc.syscall(_RESTRICT, rules, 0))
    finally:
        os.close(rules)
    threads = len(os.listdir("/proc/self/task")) - 1
    return [
        *([] if version >= 6 else ["signals: this system's Landlock is too old for that"]),
        *([f"files: not on {threads} threads that the library started when it was imported"] if threads else []),
    ]


def _allow(libc: ctypes.CDLL, rules: int, path: str, rights: int) -> None:
    handle = os.open(path, getattr(os, "O_PATH", 0o10000000) | os.O_CLOEXEC)
    try:
        _checked(libc.syscall(_ADD, rules, 1, struct.pack("=Qi", rights, handle), 0))
    finally:
        os.close(handle)


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


# seccomp: the network, and what nobody here has a use for ----------------------------------------------------------------

_SECCOMP, _SET_FILTER, _ALL_THREADS = (317, 277), 1, 1
# (x86-64, aarch64); None where the architecture has no such call.
_PROGRAMS = {"execve": (59, 221), "execveat": (322, 281)}
_FORBIDDEN: dict[str, tuple[int | None, int]] = {
    "socket": (41, 198), "connect": (42, 203), "bind": (49, 200), "listen": (50, 201), "accept": (43, 202), "accept4": (288, 242),
    "io_uring_setup": (425, 425), "ptrace": (101, 117), "process_vm_writev": (311, 271), "process_vm_readv": (310, 270),
    "pidfd_open": (434, 434), "pidfd_getfd": (438, 438), "bpf": (321, 280), "perf_event_open": (298, 241),
    "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41), "chroot": (161, 51), "unshare": (272, 97), "setns": (308, 268),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "kexec_load": (246, 104),
    "reboot": (169, 142), "swapon": (167, 224), "swapoff": (168, 225), "settimeofday": (164, 170), "clock_settime": (227, 112),
    "sethostname": (170, 161), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "open_by_handle_at": (304, 265),
    # Landlock does not watch who owns a file and who may read it.
    "chmod": (90, 0), "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "chown": (92, 0), "fchown": (93, 55),
    "lchown": (94, 0), "fchownat": (260, 54), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7),
    "removexattr": (197, 14), "lremovexattr": (198, 15), "fremovexattr": (199, 16),
}  # fmt: skip
_ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
# Calls of x86-64's other interface have this bit; nothing uses it, so that all of them are refused.
_OTHER_INTERFACE = 0x40000000
_LOAD, _EQUAL, _AT_LEAST, _RETURN = 0x20, 0x15, 0x35, 0x06
_ALLOW, _REFUSE = 0x7FFF0000, 0x00050000 | errno.EPERM


class _Filter(ctypes.Structure):
    _fields_ = (("length", ctypes.c_ushort), ("instructions", ctypes.c_char_p))


def _seccomp(libc: ctypes.CDLL, programs: bool) -> None:
    machine = platform.machine()
    if machine not in _ARCHITECTURES:
        raise OSError(errno.ENOSYS, f"its calls are not known for {machine}")
    column, architecture = _ARCHITECTURES[machine]
    refused = {**_FORBIDDEN, **({} if programs else _PROGRAMS)}
    numbers = sorted({row[column] for row in refused.values()} - {0, None})  # type: ignore[type-var]
    code = b"".join(_instructions(numbers, architecture))  # type: ignore[arg-type]
    program = _Filter(len(code) // 8, code)
    if _checked(libc.syscall(_SECCOMP[column], _SET_FILTER, _ALL_THREADS, ctypes.byref(program))) > 0:
        raise OSError(errno.ESRCH, "a thread of the library's does not let itself be walled in")


def _instructions(numbers: Sequence[int], architecture: int) -> Iterator[bytes]:
    """A program for the kernel: refuse another architecture, the other interface, and each of the numbers; allow the rest."""

    def step(code: int, value: int, then: int = 0, otherwise: int = 0) -> bytes:
        return struct.pack("=HBBI", code, then, otherwise, value)

    left = len(numbers)
    yield step(_LOAD, 4)
    yield step(_EQUAL, architecture, 0, left + 3)
    yield step(_LOAD, 0)
    yield step(_AT_LEAST, _OTHER_INTERFACE, left + 1, 0)
    for position, number in enumerate(numbers):
        yield step(_EQUAL, number, left - position, 0)
    yield step(_RETURN, _ALLOW)
    yield step(_RETURN, _REFUSE)
