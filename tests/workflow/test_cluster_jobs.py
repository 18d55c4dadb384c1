"""What config/paper.yaml asks of a cluster: hours and minutes of the groups that the profiles make of it."""

import json
import math
import re
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
LIMIT = 8 * 60
"""Minutes that a group may ask for at its first attempt: queues have limits."""
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text(encoding="utf-8"))
DUMP = "\nimport json\nstore.write_text('seconds.json', json.dumps({j.path: j.seconds for j in jobs}))\n"


@pytest.fixture(scope="module")
def paper(tmp_path_factory, copy_of_repository):
    """A copy of the repository with what a plan needs."""
    folder = copy_of_repository(tmp_path_factory.mktemp("paper"), "")
    for name in ("results", "benchmarks"):
        (folder / name).symlink_to(ROOT / name)
    return folder


@pytest.fixture(scope="module")
def chains(paper, snakemake):
    """Group -> chains of dependent jobs in it, a job being its minutes and the first file it makes."""
    out = snakemake(paper, "--dry-run", "--forceall", config="config/paper.yaml")
    rules = PROFILE["groups"]
    jobs = {}
    for block in re.split(r"^(?=(?:local)?rule \w+:$)", out, flags=re.M)[1:]:
        rule = block.split()[1].rstrip(":")
        read, made = (re.search(rf"^    {of}: (.+)$", block, re.M) for of in ("input", "output"))
        if rule in rules:
            minutes = int(re.search(r"runtime=(\d+)", block)[1])
            files = made[1].split(", "), read[1].split(", ") if read else []
            jobs.setdefault(rules[rule], []).append((minutes, *files))
    return {group: connected(of) for group, of in jobs.items()}


def connected(jobs):
    """Chains of jobs that make what others read."""
    maker = {file: k for k, (_, made, _) in enumerate(jobs) for file in made}
    chain = list(range(len(jobs)))
    for k, (_, _, read) in enumerate(jobs):
        for other in {chain[maker[file]] for file in read if file in maker}:
            chain = [chain[k] if of == other else of for of in chain]
    return [
        [(minutes, made[0]) for (minutes, made, _), of in zip(jobs, chain, strict=True) if of == one]
        for one in sorted(set(chain))
    ]


def test_no_group_asks_for_more_than_eight_hours(chains):
    assert set(chains) == set(PROFILE["group-components"])
    for group, of in chains.items():
        longest = sorted((sum(minutes for minutes, _ in chain) for chain in of), reverse=True)
        assert sum(longest[: PROFILE["group-components"][group]]) <= LIMIT, group


@pytest.mark.slow
def test_cluster_jobs_take_ten_to_sixty_minutes(paper, chains, snakemake):
    script = paper / "workflow" / "scripts" / "plan.py"
    script.write_text(script.read_text() + DUMP)
    snakemake(paper, "plan", config="config/paper.yaml")
    seconds = json.loads((paper / "seconds.json").read_text())
    for group, of in chains.items():
        minutes = sum(seconds.get(path) or 0 for chain in of for _, path in chain) / 60
        mean = minutes / math.ceil(len(of) / PROFILE["group-components"][group])
        assert mean <= 60 and (mean >= 10 or minutes < 20), f"{group}: {mean:.1f} of {minutes:.1f} minutes"
