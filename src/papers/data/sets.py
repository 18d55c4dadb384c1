"""Sets that one block of the registry describes in full: the entries of ``sets`` in ``sources.yaml``.

Each is put where sets of its task are looked for, with its files among the others, so that nothing else
tells it from a set that a paper used. Labels are put where two papers look, in every protocol the same.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import Any

SECTIONS = {
    "classification": ("datasets", "classification"),
    "counts": ("datasets",),
    "regression": ("regression",),
}
"""Task -> sections of the registry."""


def place(registry: dict[str, Any], variants: tuple[str, ...]) -> str:
    """Put the entries of ``sets`` into the other sections; what is wrong with one, or nothing."""
    used = {file["path"]: file for file in registry["files"].values()}
    for name, described in registry.get("sets", {}).items():
        sections = [registry[section] for section in ("datasets", "regression", "classification", "relaxed")]
        if any(name in section for section in sections):
            return f"sets/{name}: there is a data set of this name already"
        for k, file in enumerate(described["files"]):
            if used.setdefault(file["path"], file)["sha256"] != file["sha256"]:
                return f"sets/{name}/files/{k}/path: '{file['path']}' is another file of the registry"
        both = set(map(str, described.get("positive", []))) & set(map(str, described.get("negative", [])))
        if both:
            return f"sets/{name}: {sorted(both)} are both positive and negative"
        entry = _entry(name, described, variants)
        registry["files"] |= dict(zip(entry["files"], described["files"], strict=True))
        for section in SECTIONS[described["task"]]:
            registry[section][name] = entry
    return ""


def _entry(name: str, described: dict[str, Any], variants: tuple[str, ...]) -> dict[str, Any]:
    """The entry as the other sections have it."""
    keys = [f"{name}/{k}" for k in range(len(described["files"]))]
    shapes = dict.fromkeys(variants, described["shape"])
    return {**described, "row": name, "papers": [], "files": keys, "shapes": shapes}
