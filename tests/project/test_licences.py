"""Every locked package says under which licence it is, and each of these is one that was looked at."""

import importlib.metadata
import importlib.util
import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PERMISSIVE = re.compile(
    r"MIT(-CMU)?|0?BSD(-[23]-Clause)?|Apache(-2\.0)?|PSF-2\.0|Python Software Foundation|Public Domain", re.I
)
MPL = re.compile(r"MPL-2\.0|MPL 2\.0|Mozilla Public License", re.I)
PER_FILE = {"certifi", "hypothesis", "pathspec", "shtab", "tqdm"}
"""Under the MPL: whoever changes their files gives these away too; nothing follows for what uses them."""
UNSAID = {
    "conda-inject": "MIT",
    "skops": "MIT",
    "snakemake-interface-common": "MIT",
    "snakemake-interface-logger-plugins": "MIT",
    "snakemake-interface-report-plugins": "MIT",
    "snakemake-interface-scheduler-plugins": "MIT",
    "snakemake-interface-storage-plugins": "MIT",
}
"""Whose metadata name none; it is in the licence file of the package."""
ELSEWHERE = {"colorama", "pyreadline3"}
"""Installed on Windows alone."""


def locked():
    spec = importlib.util.spec_from_file_location("lock", ROOT / "tools/lock.py")
    lock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lock)
    return set(lock.locked_versions(lock.LOCK.read_text(encoding="utf-8")))


def licence_of(name):
    """What the metadata of an installed package say, the first of three places that says anything."""
    about = importlib.metadata.metadata(name)
    classified = [
        c.split("::")[-1]
        for c in about.get_all("Classifier", [])
        if re.match("License :: (?!OSI Approved$)", c)
    ]
    said = about.get("License-Expression") or " ".join(classified)
    return said or (about.get("License") or "").strip().split("\n")[0]


def test_every_locked_package_has_a_licence_that_was_looked_at():
    names = locked() - ELSEWHERE
    assert len(names) > 80
    found = {name: licence_of(name) for name in names}
    assert {name for name in names if not found[name]} == set(UNSAID)
    assert {name for name in names if MPL.search(found[name])} == PER_FILE
    odd = {name: said for name, said in found.items() if said and not PERMISSIVE.search(said)}
    assert set(odd) - PER_FILE == set(), odd


def test_what_is_not_permissive_is_seen():
    for said in ("GPL-3.0-only", "GNU Affero General Public License v3", "Proprietary", "AGPL", "SSPL-1.0"):
        assert not PERMISSIVE.search(said) and not MPL.search(said)
