"""Asking the reference in one process: a worker's part, the proof, and back for moves."""

import copy

from gradfuzz.program import parse, to_json
from gradfuzz.reference.prove import answer
from gradfuzz.worker.measure import forwards, measure

SECONDS = 60.0


def ask(target, text, scenarios=("reverse", "forward"), most=48, element=None, tamper=None, seconds=SECONDS):
    """The reference's answer on a Program; `tamper` changes what AD gave."""
    program = to_json(parse(text, target.language))
    measured = measure(target, {"program": program, "scenarios": list(scenarios), "most": most, "element": element})
    if tamper is not None:
        measured = tamper(copy.deepcopy(measured))
    moves = {}
    while True:
        found = answer({"target": target.name, "program": program, "measured": measured, "moves": moves, "seconds": seconds})
        if "needs" not in found:
            return found
        for key, programs in found["needs"].items():
            moves[key] = forwards(target, {"programs": programs})["outputs"]


def verdicts(found):
    """What was said about each entry; the reason where nothing was."""
    return {e["verdict"] for e in found["entries"]} if "entries" in found else found["silent"]


def entry(found):
    (one,) = found["entries"]
    return one


def scaled(factor, scenario="reverse"):
    """AD's numbers in one scenario, off by a factor."""

    def tamper(measured):
        for row in measured["entries"]:
            row["numbers"][scenario] *= factor
        return measured

    return tamper
