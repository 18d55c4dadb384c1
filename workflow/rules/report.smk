# The tables and figures of a paper, what they need, and their place in Snakemake's report.

DEFINED = [(name, task) for name in protocols.names() for task in protocols.TASKS]
CAPTION = Path(str(workflow.current_basedir)).parent / "report" / "artifact.rst"


def paths(paper):
    """Return the paths of the tables and figures of a paper; one without a suffix is a folder of figures."""
    tables, figures = ASKED.artifacts.get(paper, ([], []))
    return [*(f"{TABLES}/{name}" for name in tables), *(f"{FIGURES}/{name}" for name in figures)]


def artifacts(paper):
    """Return the tables and figures of a paper, each with its caption and its place in Snakemake's report."""
    return [in_report(path, f"Paper {paper.upper()}") for path in paths(paper)]


def in_report(path, category):
    """Return a file, or a folder of figures, with its caption and its place in Snakemake's report."""
    folder, subcategory = (TABLES, "Tables") if path.startswith(f"{TABLES}/") else (FIGURES, "Figures")
    about = {"category": category, "subcategory": subcategory, "caption": caption(path, category)}
    if not Path(path).suffix:
        labels = {"name": "{name}", "format": "png"}
        return report(directory(path), patterns=["{name}.png"], labels=labels, **about)
    below = Path(path).relative_to(folder)
    return report(path, labels={"name": str(below.with_suffix("")), "format": below.suffix[1:]}, **about)


def caption(path, category):
    """Return the path of a file with the caption of a table or figure: Snakemake reads captions from files."""
    file = Path(".snakemake", "captions", NAME, "-".join(Path(f"{path}.rst").parts))
    if workflow.is_main_process:
        file.parent.mkdir(parents=True, exist_ok=True)
        text = f"{captions.caption(path, category)}\n\n{CAPTION.read_text(encoding='utf-8')}"
        file.write_text(text, encoding="utf-8")
    return str(file.resolve())


def committed(paper):
    """Return the committed rows that the tables of a paper need beside those of this configuration."""
    if not KEEP:
        return []
    names = [name for name in records.sums(COMMITTED) if name.startswith((f"{paper}/", "verified.csv"))]
    return [f"{COMMITTED}/{name}" for name in names if f"{ROWS}/{name}" not in rows(paper)]


def published(paper):
    """Return the files of printed numbers that a paper's tables stand beside."""
    return [f"data/published/{name}" for name in PRINTED[paper]]


def artifact_settings(paper):
    """Return the parameters of the rule that makes the tables and figures of a paper."""
    return {
        "paper": paper,
        "folders": lambda wildcards: [ROWS, TABLES, FIGURES, "data/published"],
        "claims": content_hash({name: list(claim) for name, claim in claims.of_paper(paper.upper()).items()}),
        "definitions": content_hash([load_registry(), *(protocols.block(*pair) for pair in DEFINED)]),
        "source": source_hash(f"papers.{paper}", "papers.core", "papers.make"),
    }


def all_artifacts():
    """Return every table and figure that the configuration asks for."""
    wanted = [path for paper in ASKED.artifacts for path in paths(paper)]
    wanted += [f"{TABLES}/{name}" for name in AUDIT if "qp" in ASKED.artifacts]
    return [
        *wanted,
        *(f"{TABLES}/differences.{kind}" for kind in ("csv", "md") if "differences" in config),
    ]
