"""Make the lock files and environment.yml from the dependencies of the library and of the reproduction.

    python tools/lock.py            resolve again (needs uv on the path)
    python tools/lock.py --check    only compare environment.yml with the lock

A lock holds ``name==version ; markers`` and hashes, nothing else. requirements-cluster.lock holds what a
cluster needs beside requirements.lock: every start of snakemake takes longer where its plugins are installed;
requirements-bench.lock what `make bench` compares with,
requirements-docs.lock what `make docs` needs. requirements-audit.lock is whole: what looks at the
other locks is installed apart from them.
"""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PROJECTS = ("pyproject.toml", "src/papers/pyproject.toml")
OURS = "tilted"  # on which the second depends
LOCK, ENVIRONMENT = ROOT / "requirements.lock", ROOT / "environment.yml"
OF_RULES = ROOT / "workflow" / "envs" / "tilted.yaml"
CLUSTER, BENCH, DOCS, AUDIT = "cluster", "bench", "docs", "audit"
CLUSTER_LOCK, BENCH_LOCK, DOCS_LOCK, AUDIT_LOCK = (
    ROOT / f"requirements-{extra}.lock" for extra in (CLUSTER, BENCH, DOCS, AUDIT)
)
CONDA_NAMES = {"matplotlib": "matplotlib-base"}  # without a GUI toolkit
NOT_LOCKED = (
    "nuts",
    "dask",
    "bench-others",
    CLUSTER,
    BENCH,
    DOCS,
    AUDIT,
)  # extras that are installed on request only
UV = (
    "uv pip compile {sources} {extras} --universal --python-version 3.11 --fork-strategy fewest "
    "--generate-hashes --no-config --no-emit-index-url --no-emit-find-links --no-header --no-annotate "
    "--quiet --no-emit-package {ours}"
)


def direct_dependencies() -> list[str]:
    """Requirements of both projects and of their locked extras, as written, without the library itself."""
    needed = [requirement for project in _projects() for requirement in project["dependencies"]]
    needed += [requirement for extra in locked_extras().values() for requirement in extra]
    return [requirement for requirement in needed if name_of(requirement) != OURS]


def extras() -> dict[str, list[str]]:
    """Extras of both projects by name."""
    library, papers = (project["optional-dependencies"] for project in _projects())
    return library | papers


def locked_extras() -> dict[str, list[str]]:
    """Extras by name, without those that are not locked."""
    return {name: requirements for name, requirements in extras().items() if name not in NOT_LOCKED}


def _projects() -> list[dict]:
    return [tomllib.loads((ROOT / name).read_text(encoding="utf-8"))["project"] for name in PROJECTS]


def name_of(requirement: str) -> str:
    """Normalised name of a requirement."""
    return re.sub(r"[-_.]+", "-", re.match(r"[A-Za-z0-9_.-]+", requirement)[0]).lower()


def locked_versions(text: str) -> dict[str, list[str]]:
    """Name -> pinned versions (more than one where they depend on the platform or Python)."""
    found: dict[str, list[str]] = {}
    for name, version in re.findall(r"^([A-Za-z0-9_.-]+)==([^\s;\\]+)", text, re.M):
        found.setdefault(name_of(name), []).append(version)
    return found


def environment_text(lock: str, ours: bool = True) -> str:
    """environment.yml with the direct dependencies at their locked versions, and our packages from here.

    Without these it is what rules name: Snakemake copies such a file elsewhere, and ``tilted.post-deploy.sh``
    beside it installs ours.
    """
    versions = locked_versions(lock)
    lines = [
        "# Made from both pyproject.toml and requirements.lock by `make lock`; do not edit.",
        "name: tilted",
        "channels: [conda-forge, bioconda, nodefaults]",
        "dependencies:",
        "  - python>=3.11,<3.14",
    ]
    for name in sorted({name_of(requirement) for requirement in direct_dependencies()}):
        lines.append(f"  - {CONDA_NAMES.get(name, name)}={versions[name][0]}")
    lines += ["  - pip", *(["  - pip:", "      - -e .", "      - -e src/papers"] if ours else [])]
    return "\n".join([*lines, ""])


def resolve(asked: list[str], *options: str, alone: str = "") -> str:
    """A lock file's text; one version of a package for every Python where that is possible.

    Of both projects with some extras, or ``alone`` of the requirements in a text.
    """
    if shutil.which("uv") is None:
        sys.exit("`make lock` needs uv on the path: python3 -m pip install uv")
    flags = " ".join(f"--extra {name}" for name in asked)
    command = UV.format(sources="-" if alone else " ".join(PROJECTS), extras=flags, ours=OURS).split()
    done = subprocess.run([*command, *options], cwd=ROOT, capture_output=True, text=True, input=alone)
    if done.returncode:
        sys.exit(f"uv could not resolve the dependencies:\n{done.stderr}")
    return done.stdout


def rest_of(resolved: str, lock: str) -> str:
    """The part of a resolved list that the lock has not."""
    versions = locked_versions(lock)
    pins = re.split(r"\n(?=\S)", resolved.strip())
    return "".join(f"{pin}\n" for pin in pins if name_of(pin) not in versions)


def make_other_locks() -> None:
    """Write the locks of single extras, all but one at the versions that requirements.lock has."""
    for extra, path in ((CLUSTER, CLUSTER_LOCK), (BENCH, BENCH_LOCK), (DOCS, DOCS_LOCK)):
        resolved = resolve([*locked_extras(), extra], "--constraint", str(LOCK))
        path.write_text(rest_of(resolved, LOCK.read_text(encoding="utf-8")), encoding="utf-8")
    AUDIT_LOCK.write_text(resolve([], alone="\n".join(extras()[AUDIT])), encoding="utf-8")


def main(check: bool) -> int:
    """Write the files, or compare."""
    if not check:
        LOCK.write_text(resolve(list(locked_extras())), encoding="utf-8")
        make_other_locks()
    lock = LOCK.read_text(encoding="utf-8")
    wanted = {ENVIRONMENT: environment_text(lock), OF_RULES: environment_text(lock, ours=False)}
    if check:
        return int(any(path.read_text(encoding="utf-8") != text for path, text in wanted.items()))
    for path, text in wanted.items():
        path.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main("--check" in sys.argv[1:]))
