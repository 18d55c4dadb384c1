"""Which source made a study: today's, another that is verified, another, or an unknown one."""

import pandas as pd
import pytest

from tilted.provenance import closure_hash
from tilted.results import differences, differences_document, merge, runs, stamps, studies
from tilted.results.collect import Collected, no_variances
from tilted.results.compact import TYPES
from tilted.results.runs import Runs
from tilted.results.stamps import Made


def made(what="IonoS", source="new", today="new", group="as-released", **more):
    return Made(group, what, source, "2026-01-02", "numpy 2", today, **more)


def test_a_sentence_for_each_standing_and_source():
    parts = [
        made("Mining", "old", verified=True),
        made("Sonar", "old"),
        made("Glass", ""),
        made(),
        made("Pima"),
        made("Pima", source="newer", today="newer", group="corrected"),
    ]
    assert stamps.sentences(parts, "marginals") == [
        "Made by today's source (2026-01-02; numpy 2): as-released IonoS, Pima; corrected Pima.",
        "Made by other source (source old; 2026-01-02; numpy 2), marginals verified with today's: "
        "as-released Mining.",
        "**NOT BY TODAY'S SOURCE** (source not recorded; 2026-01-02; numpy 2): as-released Glass.",
        "**NOT BY TODAY'S SOURCE** (source old; 2026-01-02; numpy 2): as-released Sonar.",
    ]
    assert stamps.loud("times", parts) == [
        "NOT BY TODAY'S SOURCE: times (source not recorded; 2026-01-02; numpy 2): as-released Glass.",
        "NOT BY TODAY'S SOURCE: times (source old; 2026-01-02; numpy 2): as-released Sonar.",
    ]
    assert stamps.loud("times", [made()]) == [] and stamps.sentences([]) == []


def test_an_unknown_source_is_never_todays():
    assert "NOT BY" in stamps.sentences([made(source="", today="")])[0]


@pytest.mark.parametrize("name", list(studies.STUDIES))
def test_lines_of_a_study_carry_their_source(name, tmp_path):
    study = studies.STUDIES[name]
    line = dict.fromkeys(study.columns, 1) | {"converged": True, "protocol": "as-released", "dataset": "pima"}
    line |= {"likelihood": "probit", "problem": "small"}
    keys = [column for column in (study.group, study.part) if column]
    source = closure_hash(*study.modules(*(line[key] for key in keys)))
    other = line | {"dataset": "sonar", "likelihood": "poisson-square", "problem": "large"}
    other |= {column: 2 for column in study.key if line[column] == 1}  # another line
    stamp = stamps.columns(source)
    table = pd.DataFrame([line | stamp, other | stamp | {"source": "0123"}])
    table.to_csv(tmp_path / name, index=False)
    found = studies.made(name, studies.read(tmp_path, name))
    assert [part.source == part.today for part in found] == [True, False]
    assert found[0].date == stamp["date"] and "numpy" in found[0].environment
    table.drop(columns=list(stamps.COLUMNS)).to_csv(tmp_path / name, index=False)
    assert all(not part.source for part in studies.made(name, studies.read(tmp_path, name)))
    assert studies.made(name, None) == [] and studies.read(tmp_path / "nowhere", name) is None
    with pytest.raises(ValueError, match="no column"):
        table.drop(columns=study.columns[-1]).to_csv(tmp_path / name, index=False)
        studies.read(tmp_path, name)
    with pytest.raises(ValueError, match="two lines"):
        pd.concat([table, table]).to_csv(tmp_path / name, index=False)
        studies.read(tmp_path, name)


DERIVED = "as-released+loose-stop"


@pytest.fixture
def derived(frame, line, tmp_path):
    """Records of a derived protocol, one fold with a stamp of today's source and one of another."""

    def write(*sources):
        lines = frame([line(protocol=DERIVED, dataset="coal", seed=k) for k in range(len(sources))])
        found = Runs()
        choices = runs.todays(DERIVED, "coal", "ep")[1]
        for seed, source in enumerate(sources):
            stamp = {"source": source, "choices": choices, "environment": {}, "date": "2026-01-02"}
            found.add((DERIVED, "coal", "ep", seed), stamp)
        records = Collected(lines, no_variances(), found)
        merge.save(Collected(frame([line(dataset="coal")]), no_variances(), Runs()), tmp_path)
        differences.write(records, tmp_path)
        return tmp_path

    return write


def test_the_document_about_differences_says_what_is_not_todays(derived, pytestconfig, tmp_path):
    text = (pytestconfig.rootpath / "docs" / "differences.md").read_text(encoding="utf-8")
    today = runs.todays(DERIVED, "coal", "ep")[0]
    for sources, expected in (
        ((today,), "Every fit behind these effects was made by today's source."),
        (
            (today, "0123456789abcdef"),
            "NOT BY TODAY'S SOURCE: 1 fit of 1 protocol, made 2026-01-02 (by which",
        ),
    ):
        document = tmp_path / "differences.md"
        document.write_text(text, encoding="utf-8")
        differences_document.write_all(derived(*sources), tmp_path / "differences.csv", document)
        assert expected in " ".join(document.read_text(encoding="utf-8").split())
    assert differences.read(tmp_path / differences.FILE).dtypes["n_above"] == TYPES["n_above"]
    with pytest.raises(ValueError, match="about provenance"):
        differences_document.fill(text.replace("<!-- made -->", ""), pd.DataFrame())


@pytest.fixture
def half_measured(frame, line, tmp_path):
    """A document filled from a base's records alone: EP tuned once and twice, no second QP."""
    lines = [
        line(protocol=protocol, dataset="coal", method=method, seed=seed)
        for protocol, methods in (("as-released", ("ep", "ep-tune", "qp")), ("corrected", ("ep",)))
        for method in methods
        for seed in (0, 1)
    ]
    merge.save(Collected(frame(lines), no_variances(), Runs()), tmp_path)

    def write(text):
        document = tmp_path / "differences.md"
        document.write_text(text, encoding="utf-8")
        differences_document.write_all(tmp_path, tmp_path / "differences.csv", document)
        return document.read_text(encoding="utf-8")

    return write


def section(text, name):
    return text.split(f"<!-- effects: {name} -->\n")[1].split("<!-- end -->")[0].strip()


def test_what_was_not_run_is_called_not_measured(half_measured, pytestconfig):
    text = half_measured((pytestconfig.rootpath / "docs" / "differences.md").read_text(encoding="utf-8"))
    assert text.split("<!-- made -->\n")[1].strip().startswith("No fits of changed protocols yet")
    assert section(text, "coal-tuned-once").startswith("| Row")
    # its EP is the base's on both sides, which is no measurement
    assert section(text, "qp-own-corrected") == section(text, "loose-stop") == "Not measured yet."
    assert half_measured(text) == text
