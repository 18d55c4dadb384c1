"""Sets of one's own that are corrected between two runs: no number of the old ones stays under their name."""

import hashlib
from pathlib import Path

import pytest
import yaml

from papers import configuration, data
from papers.core import jobs, provenance, records
from papers.qp.records import FITS

CALLS = b"".join(b"%d,%d\n" % (n, n * 7 % 5) for n in range(30))
ABOUT = {"title": "Made up", "licence": "CC0", "citation": "made up", "delimiter": ",", "target": -1}
CONFIG = {
    "name": "mine",
    "results": "rows",
    "tables": "tables/mine",
    "figures": "figures/mine",
    "keep_records": True,
    "reuse": True,
    "qp": {"as-released": {"methods": ["ep"], "rows": {"calls": {"seeds": 1, "block": 1}}}},
}


@pytest.fixture
def register(tmp_path, monkeypatch, repository):
    """Function of a file's content and further fields: register the set `calls`."""
    home = tmp_path / "data"
    (home / "raw").mkdir(parents=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("TILTED_DATA", str(home))

    def write(content, **more):
        (home / "raw" / "calls.csv").write_bytes(content)
        digest = hashlib.sha256(content).hexdigest()
        file = {"path": "calls.csv", "sha256": digest, "bytes": len(content), "urls": []}
        entry = {**ABOUT, "files": [file], "shape": [30, 1], **more}
        registry = yaml.safe_load((repository / "data" / "sources.yaml").read_text(encoding="utf-8"))
        registry["sets"] = {"calls": {**entry, "task": "counts"}}
        (home / "sources.yaml").write_text(yaml.safe_dump(registry), encoding="utf-8")

    return write


def asked():
    return configuration.asked(CONFIG)


def run(found):
    """Make what a run would, and fold it in; the recorded log evidences."""
    for path, job in found.jobs.items():
        if path not in found.reused:
            standard = Path(job.files["data"])
            data.write_standard(data.load("calls", home="data"), standard)
            Path(path).parent.mkdir(parents=True, exist_ok=True)
            jobs.make(
                path, job.function, job.parameters, {"data": str(standard)}, "log", job.choices, job.source
            )
    records.collect(found.paths(), "results")
    return list(records.load(FITS["as-released"], "results")["log_evidence"])


def test_fits_of_data_that_changed_are_made_again_though_recorded_ones_are_reused(register):
    register(CALLS)
    before = run(asked())
    assert asked().reused == set(asked().jobs) != set()  # nothing to do
    register(CALLS, title="The same numbers")
    assert asked().reused == set(asked().jobs)
    register(CALLS, missing=["?"])
    assert not asked().reused
    register(CALLS.replace(b"3,1\n", b"3,9\n"))
    assert not asked().reused
    today = run(asked())
    assert all(old != new for old, new in zip(before, today, strict=True))
    assert asked().reused == set(asked().jobs)
    assert [group.stale for group in provenance.groups(FITS["as-released"], "results")] in ([0], [0, 0])
    register(CALLS)
    assert not asked().reused
