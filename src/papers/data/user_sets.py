"""User-defined data sets: one entry of ``sets`` in ``sources.yaml`` describes a set in full.

Each entry is copied into the sections of its task, and its files among the other files. From there it is used
like a set of a paper. A classification set is copied into two papers' sections, the same in every protocol.
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
    """Copy the entries of ``sets`` into the other sections; return an error message, or an empty string."""
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
    """Return the entry in the form of the other sections."""
    keys = [f"{name}/{k}" for k in range(len(described["files"]))]
    shapes = dict.fromkeys(variants, described["shape"])
    return {**described, "row": name, "papers": [], "files": keys, "shapes": shapes}
