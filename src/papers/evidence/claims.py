"""The claims of the four papers and the rules that judge them (``claims.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from papers.evidence import files

FILE = Path(__file__).parents[1] / "claims.yaml"


class Claim(NamedTuple):
    """A claim.

    Attributes
    ----------
    paper : str
        QP, PEP, REP or PESC.
    where, wording : str
        Place in the paper; what it says there.
    title : str
        What the claim is called in tables.
    rule : str
        What it means that it holds, in a sentence or some.
    margin : mapping
        Smallest effects that matter and other numbers of the rule.
    coverage : mapping
        The least that may decide it: ``rows`` with data, ``units`` behind each (seeds, splits, problems),
        and others that the paper's judges count, such as ``sets``.
    coverage_of : mapping
        Protocol -> what of ``coverage`` is different there.
    over_sets : bool
        Its rows are data sets, one each.
    universal : bool or str
        It says always, never or every: one row that is no decides. Where only part of it says so, what the
        names of that part's rows contain.
    changed : str
        What of the rule was changed after the numbers were seen, and the verdicts before and after.
    beside : str
        What a verdict on it does not say, or has to be read with.
    ours : bool
        No paper's: where we make it is ``where``.
    """

    paper: str
    where: str
    wording: str
    title: str
    rule: str
    margin: Mapping[str, float]
    coverage: Mapping[str, int]
    coverage_of: Mapping[str, Mapping[str, int]] = {}
    over_sets: bool = False
    universal: bool | str = False
    changed: str = ""
    beside: str = ""
    ours: bool = False

    @property
    def said(self) -> str:
        """Who claims it, where and what, a sentence; then what a verdict has to be read with."""
        claimed = f"{'Ours' if self.ours else 'The paper'} ({self.where}): {self.wording}."
        return f"{claimed} Beside the verdict: {self.beside}" if self.beside else claimed

    def needs(self, protocol: str) -> dict[str, int]:
        """The least that may decide it under a protocol."""
        return {**self.coverage, **self.coverage_of.get(protocol, {})}


@lru_cache(maxsize=1)
def load() -> dict[str, Claim]:
    """Every claim by its name, paper by paper.

    Raises
    ------
    TypeError
        A claim lacks a field, or has one that is not known.
    """
    content = files.read_yaml(FILE)
    return {name: Claim(**fields) for name, fields in content.items()}


def of_paper(paper: str) -> dict[str, Claim]:
    """The claims of one paper."""
    return {name: claim for name, claim in load().items() if claim.paper == paper}
