"""Sets of one's own, the entries of ``sets`` in ``sources.yaml``: what a run notes of the data of its fits.

Other sets stay as they were published; these may change from a run to the next. No fit reads this.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.data.registry import load_registry

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

SAID = ("title", "licence", "citation")
"""Fields that say nothing of the numbers."""


def described(name: str, home: str | Path | None = None) -> dict[str, Any]:
    """What decides the numbers of such a set, as ``data``: its entry with the sums of its files.

    Empty for other sets. It belongs to the choices of a job (`papers.evidence.jobs.Job`), so that lines of
    other data are told from today's.

    Raises
    ------
    RegistryError
        As `papers.data.registry.load_registry`.
    """
    about = load_registry(home).get("sets", {}).get(name)
    if about is None:
        return {}
    decides = {field: value for field, value in about.items() if field not in SAID}
    return {"data": decides | {"files": [file["sha256"] for file in about["files"]]}}
