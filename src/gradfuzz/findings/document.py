"""A finding as a document: what is wrong, in words and numbers, with everything needed to show it again."""

from __future__ import annotations

from typing import Any

from gradfuzz.findings.key import finding_id
from gradfuzz.findings.known import label
from gradfuzz.findings.reproducer import reproducer
from gradfuzz.program import from_json, to_text
from gradfuzz.worker.wire import finite_or_text

EXPLANATIONS = {
    "gradient": "The derivative that AD computes differs from the numerical derivative by more than both error bars.\n"
    "All scenarios compute the same number, the projection <v, J u> of the Jacobian, so they must agree.",
    "accuracy": "AD and the function do not agree to all digits: the derivative differs from the numerical derivative of the function as\n"
    "it is computed, good to the error bar shown, by more than rounding of the inputs can explain. Digits are lost in the\n"
    "derivative, or else in the function itself.",
    "nonfinite": "AD computes NaN or infinity where the numerical derivative is finite and settles.",
    "kink": "At a kink AD may choose any slope between the one-sided derivatives; this one lies outside.",
    "value": "The same function at the same inputs must return the same output whether or not it is being differentiated.",
    "status": "The function runs directly, and AD neither differentiates it nor says that it does not support it.",
    "malformed": "A gradient has the shape and type of its input, a tangent those of its output. This one has not.",
    "internal": "The library's own assertion fails: whatever the inputs, that is a bug by its own account.",
    "variant": "The same derivative at the same inputs, computed in another way the library offers (compiled or not, batched,\n"
    "linearised), is another number, by more than rounding of the inputs can explain.",
    "memory": "The function runs directly within the memory limit, and AD runs out of memory.",
    "precision": "In a lower precision AD is further from double precision than rounding the inputs can explain.",
    "crash": "The process dies. Whatever the inputs, a library must not take its process down.",
    "timeout": "The function does not come back.",
}


def make_document(target: str, version: str, api: str, answer: dict[str, Any], modules: tuple[str, ...] = ()) -> dict[str, Any]:
    """The finished document. `answer` is what a fresh worker said: program, verdict, rule."""
    verdict, rule = answer["verdict"], answer.get("rule", "")
    program = from_json(answer["program"])
    document: dict[str, Any] = {
        "id": "",
        "target": target,
        "version": version,
        "api": api,
        "rule": rule,
        "kind": verdict["kind"],
        "oracle": verdict["oracle"],
        "order": verdict["order"],
        "scenarios": verdict["scenarios"],
        "reason": verdict["reason"],
        "expected": verdict["expected"],
        "actual": verdict["actual"],
        "error_bar": verdict["error_bar"],
        "detail": verdict["detail"],
        "confirmed": bool(answer.get("confirmed")),
        "program": answer["program"],
        "text": to_text(program),
        "edits": answer.get("edits", []),
        "mutates": bool(answer.get("mutates")),
        "random": bool(answer.get("random")),
        "modules": list(modules),
        "limit": answer.get("limit", 60.0),
        "title": title(verdict),
        "explanation": EXPLANATIONS[verdict["kind"]],
    }
    document["label"] = label(target, document)
    document["reproducer"] = reproducer(target, document)
    return document


def with_id(document: dict[str, Any], key: str) -> dict[str, Any]:
    return {**document, "id": finding_id(document["api"], key)}


def title(verdict: dict[str, Any]) -> str:
    """One line that a maintainer reads first."""
    which = " and ".join(verdict["scenarios"])
    order = {1: "gradient", 2: "second derivative", 3: "third derivative"}.get(verdict["order"], "derivative")
    return {
        "gradient": f"wrong {order} in {which}",
        "accuracy": f"inaccurate {order} in {which}",
        "nonfinite": f"{order} is not finite in {which}",
        "kink": f"{order} outside the one-sided slopes in {which}",
        "value": f"another output under {which}",
        "status": f"{which} raises where the direct run works",
        "malformed": f"{order} of the wrong shape or type in {which}",
        "variant": f"another {order} in {which}",
        "internal": f"internal assertion fails in {which}",
        "memory": f"{which} runs out of memory",
        "precision": f"{order} in lower precision is wrong in {which}",
        "crash": f"{which} kills the process ({verdict['reason']})",
        "timeout": f"{which} does not come back",
    }[verdict["kind"]]


def public(document: dict[str, Any]) -> dict[str, Any]:
    """The document as `findings --json` shows it: strict JSON, the Program as text."""
    shown = {key: value for key, value in document.items() if key not in ("text", "mutates", "random", "edits", "limit")}
    shown["program"] = document["text"]
    shown["label"] = (document["label"] or {}).get("label", "new")
    shown["label_reason"] = (document["label"] or {}).get("reason", "")
    shown["label_link"] = (document["label"] or {}).get("link", "")
    result: dict[str, Any] = finite_or_text(shown)
    return result
