"""Draw which rule of the workflow needs which, as Snakemake says it of config/paper.yaml: docs/rules.svg.

python tools/rule_graph.py            write it
python tools/rule_graph.py --check    only compare
"""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from statistics import mean

ROOT = Path(__file__).resolve().parents[1]
PICTURE = ROOT / "docs/rules.svg"
COMMAND = "-m snakemake --rulegraph mermaid-js --forceall --quiet --configfile config/paper.yaml".split()
ACROSS, DOWN, WIDE, HIGH = 190, 34, 160, 22
"""Pixels from column to column and from row to row, and of a box."""
BOX = (
    '<rect x="{x}" y="{y}" width="{wide}" height="{high}" rx="4"/><text x="{middle}" y="{base}">{name}</text>'
)
LINE = '<path d="M{x0} {y0}C{half} {y0} {half} {y1} {x1} {y1}"/>'
HEAD = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
    'font-family="sans-serif" font-size="11">\n'
    "<title>Rules of the workflow: what each needs stands to its left</title>\n"
    "<style>path{{fill:none;stroke:#8a97a5}}rect{{fill:#eef2f6;stroke:#5b6b7b}}"
    "text{{text-anchor:middle;fill:#1b2733}}</style>\n"
    '<path d="M0 0H{width}V{height}H0Z" style="fill:#fff;stroke:none"/>\n'
)


def needed(said: str) -> dict[str, set[str]]:
    """Rule -> other rules that need what it makes, but for `all`; from what Snakemake prints."""
    names = dict(re.findall(r"^\t(id\d+)\[(\w+)\]$", said, re.M))
    users: dict[str, set[str]] = {name: set() for name in names.values() if name != "all"}
    for made, user in re.findall(r"^\t(id\d+) --> (id\d+)$", said, re.M):
        if names[user] != "all" and made != user:
            users[names[made]].add(names[user])
    return users


def columns(users: Mapping[str, set[str]]) -> list[list[str]]:
    """Rules by how many steps they are from the end, the first first; in a column near what needs them."""

    def steps(rule: str) -> int:
        return max((1 + steps(user) for user in users[rule]), default=0)

    by_steps: dict[int, list[str]] = {}
    for rule in users:
        by_steps.setdefault(steps(rule), []).append(rule)
    height: dict[str, float] = {}
    for _, rules in sorted(by_steps.items()):
        rules.sort(key=lambda rule: (mean(height[user] for user in users[rule]) if users[rule] else 0, rule))
        height |= {rule: (k + 0.5) / len(rules) for k, rule in enumerate(rules)}
    return [rules for _, rules in sorted(by_steps.items(), reverse=True)]


def drawn(users: Mapping[str, set[str]]) -> str:
    """The picture as SVG."""
    several = columns(users)
    width, height = ACROSS * len(several) - ACROSS + WIDE + 20, DOWN * max(map(len, several)) + 20
    place = {
        rule: (10 + ACROSS * column, round(height * (k + 0.5) / len(rules)))
        for column, rules in enumerate(several)
        for k, rule in enumerate(rules)
    }
    lines = []
    for rule in place:
        for user in sorted(users[rule], key=list(place).index):
            (x0, y0), (x1, y1) = place[rule], place[user]
            lines.append(LINE.format(x0=x0 + WIDE, y0=y0, half=(x0 + WIDE + x1) // 2, x1=x1, y1=y1))
    for rule, (x, y) in place.items():
        box = {"x": x, "y": y - HIGH // 2, "wide": WIDE, "high": HIGH, "middle": x + WIDE // 2, "base": y + 4}
        lines.append(BOX.format(name=rule, **box))
    return HEAD.format(width=width, height=height) + "\n".join(lines) + "\n</svg>\n"


def main(check: bool) -> int:
    """Write the picture, or say whether it is today's."""
    said = subprocess.run([sys.executable, *COMMAND], cwd=ROOT, check=True, capture_output=True, text=True)
    text = drawn(needed(said.stdout))
    if check:
        return int(not PICTURE.is_file() or PICTURE.read_text(encoding="utf-8") != text)
    PICTURE.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
