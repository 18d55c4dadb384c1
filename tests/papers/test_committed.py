"""The committed artifacts are what `make tables` makes of the committed records, byte for byte."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from papers.__main__ import DOCUMENTS

ROOT = Path(__file__).resolve().parents[2]
DOCUMENTS = (*DOCUMENTS, "docs/differences.md")


def files(root, folder):
    """Files of a folder but those that are made anew everywhere and not committed."""
    found = {path.relative_to(root) for path in (root / folder).rglob("*") if path.is_file()}
    return {str(p) for p in found if "preview" not in p.parts}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """A folder with the committed records and documents in which `tilted tables` ran."""
    folder = tmp_path_factory.mktemp("made")
    shutil.copytree(ROOT / "results", folder / "results", ignore=shutil.ignore_patterns("preview"))
    shutil.copytree(ROOT / "data" / "published", folder / "data" / "published")
    for name in DOCUMENTS:
        (folder / name).parent.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, folder / name)
    command = [sys.executable, "-m", "papers", "tables", "--documents"]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    return folder


@pytest.mark.parametrize("kind", ["tables", "figures"])
def test_artifacts(made, kind):
    again = files(made, kind)
    assert again == files(ROOT, kind)
    for name in again:
        assert (made / name).read_bytes() == (ROOT / name).read_bytes(), f"{name}: run `make tables`"


@pytest.mark.parametrize("name", DOCUMENTS)
def test_documents(made, name):
    assert (made / name).read_bytes() == (ROOT / name).read_bytes(), "run `make tables`"
