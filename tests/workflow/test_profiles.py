"""The profiles say the same of the workflow, and every job says what it needs."""

import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ("slurm", "generic")
ALONE = {"lookup", "download", "plan", "paper_table_block", "lookup_effect"}  # no group: few, long or local
DIFFER = {"executor", "cores"}
# one job each; so are records
ENDS = {"artifacts", "compact", "differences", "effects", "lookup_study", "pep_tables"}


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def rules():
    """Name and text of every rule with a script."""
    found = []
    for path in [ROOT / "Snakefile", *(ROOT / "workflow" / "rules").glob("*.smk")]:
        pieces = re.split(r"^ *rule (\w+):$", path.read_text(encoding="utf-8"), flags=re.M)
        found += zip(pieces[1::2], pieces[2::2], strict=True)
    return [(name, text) for name, text in found if "script:" in text]


@pytest.mark.parametrize("name, text", rules(), ids=lambda value: value if value.isidentifier() else "")
def test_every_job_says_what_it_needs(name, text):
    assert "log:" in text and "threads: 1" in text
    if name not in {"plan", "truth_record"}:  # they run where snakemake does
        (memory,), (minutes,) = (re.findall(rf"{of}=growing\((\d+)\)", text) for of in ("mem_mb", "runtime"))
        assert 1000 <= int(memory) <= 4000 and 5 <= int(minutes) <= 240


def test_every_rule_of_many_jobs_is_in_a_group():
    grouped = {
        name for name in dict(rules()) if not name.endswith("_record") and not name.endswith("_records")
    }
    assert grouped - ALONE - ENDS | {"relaxed_own"} == set(profile("slurm")["groups"])


def test_the_profiles_differ_in_the_cluster_alone():
    ours = [{key: value for key, value in profile(name).items() if "slurm" not in key} for name in PROFILES]
    slurm, generic = (
        {key: value for key, value in of.items() if key not in DIFFER and "cluster" not in key} for of in ours
    )
    assert slurm == generic
    assert set(slurm["groups"].values()) == set(slurm["group-components"])
    assert profile("generic")["cores"] == 1 and slurm["keep-incomplete"] is True
    assert slurm["retries"] >= 2 and slurm["latency-wait"] >= 30
    assert not set(slurm) & set(profile("default")), "the default profile holds besides"
