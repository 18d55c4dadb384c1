"""The study of lookup tables in the workflow: its rule ends with its records."""

CONFIG = "config/lookup.yaml"


def test_the_study_writes_records_and_no_tables(copy_of_repository, snakemake, tmp_path):
    """Committed records do not look done where the fits behind them are missing."""
    folder = copy_of_repository(tmp_path / "copy", "")
    for attempt in ("bare", "committed"):
        plan = snakemake(folder, "--dry-run", config=CONFIG)
        assert "rule lookup_study:" in plan and "rule lookup_effect:" in plan, attempt
        assert "results/qp/lookup_effect.csv" in plan and "tables/lookup" not in plan
        (folder / "results" / "qp").mkdir(parents=True, exist_ok=True)
        for name in ("lookup.csv", "lookup_effect.csv"):
            (folder / "results" / "qp" / name).write_text("", encoding="utf-8")
