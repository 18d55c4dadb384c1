"""What a line of the Power-EP paper's compact records holds.

Regressions (`REGRESSION`):

``dataset, split, alpha, m, start``
    which fit: "synthetic" (split is the number of the drawn set) or a regression set; the power as text,
    "full" for exact regression, whose m is 0; where the search started (`tilted.experiments.pep.STARTS`);
``nlml, smse, smll``
    the negative log evidence that was minimised, and the scores, of standardised targets; empty if failed;
``evaluations, outcome, message, seconds``
    ``ok``, ``stopped`` (numbers, but the search did not converge) or ``failed`` (no numbers), why, and
    processor seconds.

Classifications (`CLASSIFICATION`) have ``protocol`` (`tilted.data.classification`) in place of ``start``;
their set "banana" is drawn; ``nlml`` is the energy, a bound at power 0; scores are ``error``, the share of
wrong test labels, and ``nll``, nats a test point.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import ModuleType

from tilted.data import classification
from tilted.experiments import pep, pep_classification
from tilted.results import runs


@dataclass(frozen=True, eq=False)
class Form:
    """What differs between the records of the paper's experiments.

    Attributes
    ----------
    name, fits : str
        Of a plan's parts; the folder of fit files beside those of other papers.
    file, provenance : str
        Names in the folder of records.
    experiment : module
        The module: ``datasets()``, ``cells``, ``sizes``.
    variant : str
        The column that says under which conditions a fit was made.
    variants : tuple of str
        Its values, in order.
    digits : dict
        Significant digits of the scores in the file.
    """

    name: str
    fits: str
    file: str
    provenance: str
    experiment: ModuleType
    variant: str
    variants: tuple[str, ...]
    digits: dict[str, int]

    @property
    def scores(self) -> tuple[str, ...]:
        """Columns of scores, the minimised energy first."""
        return tuple(self.digits)

    @property
    def key(self) -> tuple[str, ...]:
        """Columns that name a fit, the split last."""
        return ("dataset", "alpha", "m", self.variant, "split")

    @property
    def named(self) -> str:
        """A fit's name, with its columns in braces."""
        return f"{{dataset}} split {{split}}, alpha {{alpha}}, m {{m}}, {{{self.variant}}}"

    @property
    def columns(self) -> tuple[str, ...]:
        return (
            "dataset", "split", "alpha", "m", self.variant, "n_train", "n_test", *self.scores,
            "evaluations", "outcome", "message", "seconds",
        )  # fmt: skip

    @property
    def text(self) -> tuple[str, ...]:
        """Columns of text."""
        return ("dataset", "alpha", self.variant, "outcome", "message")

    @property
    def floats(self) -> dict[str, int]:
        """Columns of floats and their significant digits."""
        return {**self.digits, "seconds": 3}

    @property
    def types(self) -> dict[str, str]:
        whole = dict.fromkeys(self.columns, "int64")
        return whole | dict.fromkeys(self.floats, "float64") | dict.fromkeys(self.text, "str")

    @property
    def module(self) -> str:
        """Name of the experiment's module."""
        return self.experiment.__name__


REGRESSION = Form(
    "PEP",
    "pep",
    "regression.csv.gz",
    runs.FILE,
    pep,
    "start",
    tuple(pep.STARTS),
    {"nlml": 12, "smse": 10, "smll": 10},
)
CLASSIFICATION = Form(
    "PEP classes",
    "pep-classification",
    "classification.csv.gz",
    "provenance-classification.json",
    pep_classification,
    "protocol",
    classification.PROTOCOLS,
    {"nlml": 12, "error": 10, "nll": 10},
)
FORMS = {"regression": REGRESSION, "classification": CLASSIFICATION}
