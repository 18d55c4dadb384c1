"""The profiles say what every kind of job needs, and the same of the workflow."""

import re
from pathlib import Path

import pytest
import yaml

from papers import PAPERS, configuration
from papers.core import files
from papers.pesc.records import EXPERIMENTS

ROOT = Path(__file__).resolve().parents[2]
PROFILES = ("slurm", "generic")
CONFIGS = ("preview", "paper", "differences", "lookup", "pep-middle", "pep-converged")
ALONE = {"qp_lookup_table", "qp_lookup_errors", "qp_lookup_effect"}  # no group: few or long
DIFFER = {"executor", "cores"}


def profile(name):
    return yaml.safe_load((ROOT / "profiles" / name / "config.yaml").read_text(encoding="utf-8"))


def kinds():
    """Rules of the jobs of all configurations, and of raw and standard files."""
    found = [configuration.asked(files.read_yaml(ROOT / f"config/{name}.yaml")) for name in CONFIGS]
    return {job.kind for asked in found for job in asked.jobs.values()} | {"download", "standardise"}


def looped(text):
    """Names of the rules that a loop makes of a text."""
    template = re.search(r'name:\s+f?"?([^"\n]+)', text)[1]
    values = [{"paper": paper} for paper in PAPERS] + [{"experiment": name} for name in EXPERIMENTS]
    return [template.format(**value) for value in values if f"{{{next(iter(value))}}}" in template]


def rules():
    """Return name -> text of every rule with a script, that of its base included."""
    texts, bases = {}, {}
    for path in sorted((ROOT / "workflow" / "rules").glob("*.smk")):
        heading = r"^(?:use rule (\w+) as (\w+) with|rule (\w+)| +rule):.*$"
        pieces = re.split(heading, path.read_text(encoding="utf-8"), flags=re.M)
        for base, derived, name, text in zip(*(pieces[k::4] for k in (1, 2, 3, 4)), strict=True):
            for key in [derived or name] if derived or name else looped(text):
                texts[key], bases[key] = text, base
    whole = {name: text + texts.get(bases[name], "") for name, text in texts.items()}
    return {name: text for name, text in whole.items() if "script:" in text}


def test_every_rule_has_a_log_an_environment_one_thread_and_its_needs():
    assert set(rules()) > kinds()
    for name, text in rules().items():
        assert "log:" in text and "conda:" in text and not re.search(r"^ +threads:", text, re.M), name
        assert "**NEEDS" in text, name


def test_every_attempt_may_have_more():
    needs = profile("default")["set-resources"]
    assert set(needs) <= kinds()
    for name, asked in needs.items():
        for what, least, most in (("mem_mb", 1000, 4000), ("runtime", 5, 240)):
            amount, times, attempt = asked.get(what, f"{least} * attempt").split()
            assert least <= int(amount) <= most and (times, attempt) == ("*", "attempt"), name


def test_every_kind_of_many_jobs_is_in_a_group():
    assert set(profile("slurm")["groups"]) == kinds() - ALONE - {"download"}


def test_rows_are_joined_one_paper_at_a_time():
    joining = {name for name, text in rules().items() if "joining=1" in text}
    assert joining == {"qp_rows", "pep_rows", "rep_rows", "pesc_rows"}
    for name in PROFILES:
        assert profile(name)["resources"]["joining"] == 1
        assert "joining" not in profile(name)["set-resource-scopes"]


def test_the_profiles_differ_in_the_cluster_alone():
    ours = [{key: value for key, value in profile(name).items() if "slurm" not in key} for name in PROFILES]
    slurm, generic = (
        {key: value for key, value in of.items() if key not in DIFFER and "cluster" not in key} for of in ours
    )
    assert slurm == generic
    assert set(slurm["groups"].values()) == set(slurm["group-components"])
    assert profile("generic")["cores"] == 1 and slurm["keep-incomplete"] is True
    assert slurm["retries"] >= 2 and slurm["latency-wait"] >= 30
    assert not set(slurm) & set(profile("default")), "the default profile holds besides, and would win"


@pytest.mark.parametrize("name", PROFILES)
def test_what_a_user_edits_is_in_the_profile_of_the_cluster(name):
    assert "default-resources" in profile(name) and "default-resources" not in profile("default")
