"""What config/paper.yaml asks of a cluster: hours and minutes of the groups that the profiles make of it."""

import math
import re
from pathlib import Path

import pytest
import yaml

from papers import configuration, plan
from papers.core import files, resources

ROOT = Path(__file__).resolve().parents[2]
pytestmark = pytest.mark.workflow
LIMIT = 8 * 60
"""Minutes that a group may ask for at its first attempt: queues have limits."""
PROFILE = yaml.safe_load((ROOT / "profiles" / "slurm" / "config.yaml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def chains(tmp_path_factory, copy_of_repository, snakemake):
    """Group -> chains of dependent jobs in it, a job being its minutes and the first file it makes."""
    folder = copy_of_repository(tmp_path_factory.mktemp("paper"), "")
    out = snakemake(folder, "--dry-run", "--forceall", config="config/paper.yaml")
    rules, jobs = PROFILE["groups"], {}
    for block in re.split(r"^(?=(?:local)?rule \w+:$)", out, flags=re.M)[1:]:
        rule = block.split()[1].rstrip(":")
        read, made = (re.search(rf"^    {of}: (.+)$", block, re.M) for of in ("input", "output"))
        if rule in rules:
            minutes = re.search(r"runtime=(\d+)", block)
            files = made[1].split(", "), read[1].split(", ") if read else []
            jobs.setdefault(rules[rule], []).append((int(minutes[1]), *files))
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
def test_cluster_jobs_take_ten_to_sixty_minutes(chains):
    asked = configuration.asked(files.read_yaml(ROOT / "config/paper.yaml"))
    seen = resources.read(ROOT / "benchmarks/resources.csv")
    costs = plan.costs(asked.jobs.values(), [ROOT / "results"], seen)
    seconds = {cost.path: cost.seconds for cost in costs}
    for group, of in chains.items():
        minutes = sum(seconds.get(path) or 0 for chain in of for _, path in chain) / 60
        mean = minutes / math.ceil(len(of) / PROFILE["group-components"][group])
        assert mean <= 60 and (mean >= 10 or minutes < 20), f"{group}: {mean:.1f} of {minutes:.1f} minutes"
