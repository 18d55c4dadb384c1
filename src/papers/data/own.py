"""Data sets of the user (``sets`` in ``sources.yaml``): which data a fit depends on.

Published sets do not change. A user's set may change between two runs. No fit reads this module.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from papers.data.registry import load_registry

if TYPE_CHECKING:
    from pathlib import Path
    from typing import Any

WITHOUT_EFFECT = ("title", "licence", "citation")
"""Fields that do not affect the numbers."""


def described(name: str, home: str | Path | None = None) -> dict[str, Any]:
    """Return the entry of a user's set, with the checksums of its files, as ``data``.

    Title, licence and citation do not affect the numbers and are left out.

    The result is empty for other sets. It is one of the choices of a job (`papers.core.jobs.Job`), so
    that rows made from other data are recognised.

    Raises
    ------
    RegistryError
        As `papers.data.registry.load_registry`.
    """
    about = load_registry(home).get("sets", {}).get(name)
    if about is None:
        return {}
    decides = {field: value for field, value in about.items() if field not in WITHOUT_EFFECT}
    return {"data": decides | {"files": [file["sha256"] for file in about["files"]]}}
