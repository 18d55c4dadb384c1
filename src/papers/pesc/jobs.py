"""The jobs of the PESC paper, and the tables and figures that a configuration asks for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from papers.pesc.records import EXPERIMENTS
from papers.pesc.tables import NAMES

if TYPE_CHECKING:
    from typing import Any

    from papers.core.jobs import Job

    Config = Mapping[str, Any]


def jobs(config: Config) -> list[Job]:
    """Return every job that a configuration asks for."""
    sections = config.get("pesc", {})
    wanted = [listed(sections[name]) for name, (listed, _) in EXPERIMENTS.items() if name in sections]
    return [job for jobs in wanted for job in jobs]


def tables(config: Config) -> list[str]:
    """Return the names of the tables if both of their experiments were asked for."""
    return list(NAMES) if {"accuracy", "searches"} <= config.get("pesc", {}).keys() else []


def figures(config: Config) -> list[str]:
    """Return the folder of figures."""
    return ["pesc"] if "pesc" in config else []
