"""Damaged records, and records that a slip would replace."""

import shutil

import numpy as np
import pytest

from papers import configuration
from papers.cli import main
from papers.core import records, store

FOLDERS = {"name": "x", "results": "r", "tables": "t", "figures": "f"}


@pytest.mark.parametrize("folder", ["results", "results/", "results/."])
def test_no_run_writes_the_committed_rows(folder):
    config = {**FOLDERS, "results": folder, "pesc": {"accuracy": {"problems": 1}}}
    for kept in (False, True):
        with pytest.raises(
            ValueError, match="results has the committed records, which only `tilted records`"
        ):
            configuration.asked({**config, "keep_records": kept})
    assert configuration.asked({**config, "results": "results/preview"}).jobs


@pytest.mark.parametrize("kind", ["tables", "figures"])
def test_committed_tables_and_figures_are_not_those_of_other_records(kind):
    """A configuration copied from config/paper.yaml, of which the folder of records alone was renamed."""
    config = {"name": "mine", "results": "results/mine", "tables": "tables/mine", "figures": "figures/mine"}
    config["pesc"] = {"accuracy": {"problems": 1}}
    assert configuration.asked(config).jobs
    for folder in (kind, f"{kind}/."):
        with pytest.raises(ValueError, match=f"{kind}: {kind} has those of the committed records"):
            configuration.asked({**config, kind: folder})


@pytest.mark.parametrize("said", [[], ["--tables", "t"], ["--figures", "f"]])
def test_committed_tables_are_not_those_of_other_records_by_command(said, monkeypatch, capsys, tmp_path):
    """`tilted tables --records results/mine`, exit 0: a mixture, which reproductions take for committed."""
    monkeypatch.setattr("papers.make.write_all", lambda *a: pytest.fail("written"))
    assert main(["tables", "--records", str(tmp_path), *said]) == 2
    assert "has those of the committed records" in capsys.readouterr().err


def test_any_damage_of_any_committed_record_is_named(repository, tmp_path):
    """Bits flipped and ends cut off, plain CSV or not: by the file's name."""
    listed = records.sums(repository / "results")
    shutil.copy(repository / "results" / records.SUMS, tmp_path)
    rng, found = np.random.default_rng(0), 0
    for name in listed:
        whole, path = (repository / "results" / name).read_bytes(), tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        damaged = [whole[: len(whole) // 2], whole[:-1], b"", whole + b"\n"]
        for _ in range(6):
            flipped = bytearray(whole)
            flipped[rng.integers(len(whole))] ^= 1 << int(rng.integers(8))
            damaged.append(bytes(flipped))
        for content in damaged:
            path.write_bytes(content)
            with pytest.raises(store.RecordError, match=f"{name}: differs from its check sum"):
                records.content(tmp_path, name)
            found += 1
        path.write_bytes(whole)
        assert records.content(tmp_path, name) == whole
    assert found == 10 * len(listed) > 200
    assert records.damaged(tmp_path) == []
