"""Make config/README.md from the schema of configurations, with examples from the ones that are there.

python tools/config_readme.py            write it
python tools/config_readme.py --check    only compare
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[1]
SCHEMA, README = ROOT / "workflow/schemas/config.schema.yaml", ROOT / "config/README.md"
FILES = ("paper", "preview", "pep-middle", "pep-converged", "differences", "lookup")
"""Configurations in the order in which examples are looked for."""
HEAD = """\
<!-- Made from workflow/schemas/config.schema.yaml by tools/config_readme.py; do not edit. -->
# What a configuration may say

`snakemake --cores N --configfile config/FILE.yaml`; checked before anything runs. NAME stands for any of the
names that the line above it describes. A key without a default has to be there if what it belongs to is.

| file | runs |
|---|---|
"""


def rows(
    schema: dict, known: dict, path: tuple[str, ...] = (), above: tuple[str, ...] = ()
) -> Iterator[tuple]:
    """(path, schema, whether required) of every key below a schema; what refers to itself is entered once."""
    required = set(schema.get("required", ()))
    parts = dict(schema.get("properties", {}))
    if isinstance(schema.get("additionalProperties"), dict):
        parts["NAME"] = schema["additionalProperties"]
    for name, part in parts.items():
        reference = part.get("$ref", "")
        whole = {**known[reference.rsplit("/", 1)[-1]], **part} if reference else part
        yield (*path, name), whole, name in required
        if reference not in above or not reference:
            yield from rows(whole, known, (*path, name), (*above, reference))


def example(path: tuple[str, ...]) -> str:
    """The first value that a configuration has there; nothing if none has."""
    for file in FILES:
        value = yaml.safe_load((ROOT / "config" / f"{file}.yaml").read_text(encoding="utf-8"))
        for key in path:
            if isinstance(value, list):
                value = value[0]
            keys = value if isinstance(value, dict) else {}
            value = next(iter(keys.values()), None) if key == "NAME" else keys.get(key)
        if value is not None:
            return (
                "" if isinstance(value, dict) and len(str(value)) > 60 else json.dumps(value).replace('"', "")
            )
    return ""


def text() -> str:
    """The page; KeyError for a key without a description."""
    schema = yaml.safe_load(SCHEMA.read_text(encoding="utf-8"))
    lines = [HEAD.rstrip()]
    for file in FILES:
        comment = (ROOT / "config" / f"{file}.yaml").read_text(encoding="utf-8").split(".", 1)[0]
        lines.append(f"| `{file}.yaml` | {' '.join(comment.replace('#', ' ').split())} |")
    lines += ["", "| key | meaning | default | example |", "|---|---|---|---|"]
    for path, part, required in rows(schema, schema["$defs"]):
        if path[-1] == "NAME" and "description" not in part:
            continue
        default = "" if required or path[-1] == "NAME" else part.get("default", "nothing")
        shown = example(path)
        meaning = part["description"].replace("|", "/").rstrip(".")
        lines.append(f"| `{'.'.join(path)}` | {meaning} | {default} | {f'`{shown}`' if shown else ''} |")
    return "\n".join([*lines, ""])


def main(check: bool) -> int:
    """Write the page, or compare."""
    if check:
        return int(README.read_text(encoding="utf-8") != text())
    README.write_text(text(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
