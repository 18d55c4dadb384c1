"""The claims of the four papers and the rules that judge them (``claims.yaml``)."""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from papers.core import files

FILE = Path(__file__).parents[1] / "claims.yaml"


class Claim(NamedTuple):
    """A claim.

    Attributes
    ----------
    paper : str
        QP, PEP, REP or PESC.
    where, wording : str
        Place in the paper; the claim, paraphrased.
    title : str
        Its name in tables.
    rule : str
        When it holds.
    margin : mapping
        Smallest effects that matter and other numbers of the rule.
    coverage : mapping
        The least data that may decide it: ``rows`` with data, ``units`` behind each (seeds, splits,
        problems), and others that the paper's judges count, such as ``sets``.
    coverage_of : mapping
        Protocol -> entries of ``coverage`` that differ there.
    universal : bool or str
        The claim says always, never or every, so one row that is no decides. If only some rows are universal,
        this is text that their names contain.
    caveat : str
        The limit of a verdict on it.
    ours : bool
        The claim is this project's, at ``where``, and not a paper's.
    """

    paper: str
    where: str
    wording: str
    title: str
    rule: str
    margin: Mapping[str, float]
    coverage: Mapping[str, int]
    coverage_of: Mapping[str, Mapping[str, int]] = {}
    universal: bool | str = False
    caveat: str = ""
    ours: bool = False

    @property
    def statement(self) -> str:
        """Return the statement: author, place and wording of the claim, then the caveat."""
        claim = f"{'Ours' if self.ours else 'The paper'} ({self.where}): {self.wording}."
        return f"{claim} {self.caveat}".rstrip()

    def needs(self, protocol: str) -> dict[str, int]:
        """Return the least data that may decide it under a protocol."""
        return {**self.coverage, **self.coverage_of.get(protocol, {})}


@lru_cache(maxsize=1)
def load() -> dict[str, Claim]:
    """Return every claim by its name, paper by paper.

    Raises
    ------
    TypeError
        A claim lacks a field, or has one that is not known.
    """
    content = files.read_yaml(FILE)
    return {name: Claim(**fields) for name, fields in content.items()}


def of_paper(paper: str) -> dict[str, Claim]:
    """Return the claims of one paper."""
    return {name: claim for name, claim in load().items() if claim.paper == paper}
