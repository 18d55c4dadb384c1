# What the PESC paper's part of a configuration asks for: accuracy against rejection sampling, and searches.


PESC, PESC_RECORDS = config.get("pesc", {}), f"{config['results']}/pesc"


def pesc_paths():
    """Lines of all jobs: families of random problems, and single problems searched by every rule."""
    problems, searches = PESC.get("accuracy", {}).get("problems"), PESC.get("searches", {})
    families = [
        f"data/fits/pesc/accuracy/{problems}/{dimension}d-{K}c.jsonl.gz"
        for dimension, K in pesc_accuracy.FAMILIES
        if problems
    ]
    return families + [
        f"data/fits/pesc/searches/{searches.get('evaluations', kind.evaluations)}/{problem}-{repeat}.jsonl.gz"
        for problem, kind in pesc_regret.PROBLEMS.items()
        for repeat in range(searches.get("repeats", 0))
    ]


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
