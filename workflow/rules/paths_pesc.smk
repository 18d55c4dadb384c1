# What the PESC paper's part of a configuration asks for: accuracy against rejection sampling, and searches.


PESC, PESC_RECORDS = config.get("pesc", {}), f"{config['results']}/pesc"


def planned_pesc():
    """What a plan needs to know of all jobs, families of random problems and single problems searched by every rule:
    part, lines, number of problems or searches, job that may have been measured, how many times its work it is.
    """
    problems, searches = PESC.get("accuracy", {}).get("problems"), PESC.get("searches", {})
    folder, jobs = "data/fits/pesc", []
    for dimension, K in pesc_accuracy.FAMILIES if problems else ():
        path, like = (
            f"{folder}/accuracy/{n}/{dimension}d-{K}c.jsonl.gz" for n in (problems, pesc_accuracy.NUMBER)
        )
        jobs.append(("PESC accuracy", path, problems, like, problems / pesc_accuracy.NUMBER))
    for problem, kind in pesc_regret.PROBLEMS.items():
        n = searches.get("evaluations", kind.evaluations)
        like = f"{folder}/searches/{kind.evaluations}/{problem}-0.jsonl.gz"
        for repeat in range(searches.get("repeats", 0)):
            path = f"{folder}/searches/{n}/{problem}-{repeat}.jsonl.gz"
            jobs.append(("PESC searches", path, len(pesc_regret.RULES), like, n / kind.evaluations))
    return jobs


def pesc_paths():
    """Lines of all jobs."""
    return [path for _, path, *_ in planned_pesc()]


def pesc_artifacts_made():
    """What the artifacts rule makes of them, where both were asked for; a folder of figures."""
    names = pesc_artifacts.TABLES if len(PESC) == 2 else []
    return [f"{TABLES}/{name}" for name in names] + [
        directory(f"{FIGURES}/{pesc_artifacts.FIGURES}") for _ in PESC
    ][:1]


def pesc_records():
    """The studies they are folded into."""
    names = {"accuracy": studies.ACCURACY, "searches": studies.REGRET}
    return [f"{PESC_RECORDS}/{name}" for part, name in names.items() if part in PESC]
