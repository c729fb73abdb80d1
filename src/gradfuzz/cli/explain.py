"""`gradfuzz explain`: a language model's guess at the cause of a finding."""

from __future__ import annotations

from rich.panel import Panel
from rich.text import Text

from gradfuzz.cli.bugs import leading
from gradfuzz.cli.console import DEFAULT_STORE, StoreOption, out, records, say, visible
from gradfuzz.cli.findings import IdArgument
from gradfuzz.cli.meter import metering
from gradfuzz.cli.seeds import DEFAULT_MODEL, DEFAULT_OUT, ModelOption, OutOption, PriceOption, TimeoutOption, UrlOption, asking_for
from gradfuzz.cli.where import EnvOption, PythonOption, place
from gradfuzz.errors import GradfuzzError
from gradfuzz.llm.client import TIMEOUT
from gradfuzz.llm.explain import explain as ask_for_cause
from gradfuzz.llm.explain import formulas
from gradfuzz.llm.limits import Limits
from gradfuzz.llm.prompting import Prompts
from gradfuzz.pool.launch import Launch
from gradfuzz.pool.pool import Pool


def explain(
    identity: IdArgument,
    store: StoreOption = DEFAULT_STORE,
    model: ModelOption = DEFAULT_MODEL,
    base_url: UrlOption = None,
    price: PriceOption = None,
    request_timeout: TimeoutOption = f"{TIMEOUT:.0f}s",
    python: PythonOption = None,
    env: EnvOption = None,
    out_folder: OutOption = DEFAULT_OUT,
) -> None:
    """Ask a language model what may cause a finding. The answer is a guess: nothing is decided by it, and the store does not keep it.

    The model is shown the finding's script, the formula of the derivative rule as the library has it, and the evidence.
    """
    with records(store) as opened:
        finding = leading(opened, identity)
    where = place(python, env, finding.target)
    with metering() as meter:
        asking = asking_for(model, base_url, price, out_folder, 1, None, None, request_timeout, meter)
        formula = ""
        try:
            with Pool(Launch(finding.target, where.python, variables=where.variables), 1) as pool:
                formula = formulas(finding, pool)
        except GradfuzzError as error:  # the library is not here: the script and the evidence are
            say(f"without the rule's formula: {error}")
        guess = ask_for_cause(finding, formula, Prompts(finding.target, finding.version, Limits()), asking)
    text = Text(visible(guess.cause))
    for title, part in (("what might mend it", guess.fix), ("how sure it says it is", guess.confidence)):
        if part:
            text.append(f"\n\n{title}: ", style="dim").append(visible(part))
    out.print(Panel(text, title=f"a guess by {visible(model)}, not evidence", title_align="left", border_style="yellow"))
    say(f"{finding.id} stands or falls with its script: gradfuzz repro {finding.id}")
