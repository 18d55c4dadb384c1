"""Input from elsewhere: data, labels, kernels, hyperparameters, configurations and the contents of files.

What is refused is refused with an error that a caller can name; what is taken gives finite numbers.
"""

import ast
import gzip
import json
import shutil
import tracemalloc
import warnings
from functools import partial

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from jsonschema import Draft202012Validator

import tilted
from papers import configuration, data
from papers.__main__ import main
from papers.data import mnist, readers
from papers.data.registry import VARIANTS, load_registry
from papers.evidence import records, runs, store
from papers.pep.records import STUDIES as PEP
from papers.pesc.records import STUDIES as PESC
from papers.qp import protocols
from papers.qp.records import STUDIES as QP
from papers.qp.records import VARIANCES
from papers.rep.records import BOUNDARY, EXACT
from papers.rep.records import STUDIES as REP
from tilted import likelihoods
from tilted.inference.options import Options
from tilted.learning.search import Search

ALIKE = {"deadline": None, "derandomize": True, "suppress_health_check": list(HealthCheck)}
ROOM, FEW = settings(max_examples=60, **ALIKE), settings(max_examples=25, **ALIKE)
ANY = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.text(max_size=5),
    st.lists(st.floats(), max_size=3),
    st.complex_numbers(),
    st.binary(max_size=3),
)
REFUSED = (ValueError, ArithmeticError)  # bad input; a posterior that does not exist
QUICK = Options(max_sweeps=60)


# --- the front door


def sound(X, y, **arguments):
    """A fit that is refused by name, or whose numbers are finite."""
    with warnings.catch_warnings():
        warnings.simplefilter("error", RuntimeWarning)
        try:
            fitted = tilted.fit(X, y, optimise=False, options=QUICK, **arguments)
            mean, variance = fitted.predict_latent(X)
        except REFUSED as error:
            assert str(error)
            return None
    assert np.isfinite(fitted.log_evidence) or not fitted.status.converged
    assert np.all(np.isfinite(mean)) and np.all(variance > 0)
    return fitted


def in_range(*numbers):
    """Whether numbers are of a size that the library says it takes."""
    largest = np.max(np.abs(np.concatenate([np.ravel(one) for one in numbers])))
    return largest == 0 or 1e-50 <= largest <= 1e50  # never of NaN


def hardly_any_refused(fits, least):
    """Of at least so many sensible inputs: one that refuses all would be sound too."""
    assert len(fits) >= least and np.mean([fitted is None for fitted in fits]) <= 0.1


def test_fit_takes_no_nonsense():
    good, fits = (np.arange(6.0)[:, None], np.array([1.0, -1, 1, -1, 1, -1])), []

    @ROOM
    @given(X=ANY, y=ANY, mean=ANY, number=st.floats(-1e3, 1e3), likelihood=ANY, method=ANY, kernel=ANY)
    def each(X, y, mean, number, likelihood, method, kernel):
        with pytest.raises(ValueError):
            tilted.fit(X, good[1])
        with pytest.raises(ValueError):
            tilted.fit(good[0], y)
        for name, value in (("likelihood", likelihood), ("inference", method)):
            with pytest.raises(ValueError):
                tilted.fit(*good, **{name: value})
        sound(*good, mean=mean)
        fits.append(sound(*good, mean=number))
        if kernel is not None:
            with pytest.raises(ValueError, match="kernel"):
                tilted.fit(*good, kernel=kernel)

    each()
    hardly_any_refused(fits, 40)


def arrays(draw, shape, elements):
    return draw(hnp.arrays(float, shape, elements=elements))


@st.composite
def inputs_and_labels(draw):
    """Of any shapes and numbers, or such that there is a model."""
    if draw(st.booleans()):
        shapes = hnp.array_shapes(min_dims=1, max_dims=3, max_side=4), st.integers(0, 5)
        return tuple(arrays(draw, shape, st.floats(width=64)) for shape in shapes)
    n = draw(st.integers(2, 5))
    return arrays(draw, (n, 2), st.floats(-1e6, 1e6)), (-1.0) ** np.arange(n)


def test_fit_on_arrays_of_any_shape_and_any_numbers():
    fits = []

    @ROOM
    @given(given=inputs_and_labels())
    def each(given):
        X, y = given
        fitted = sound(X, y)
        if X.ndim == 2 and len(X) == len(y) and set(y) == {-1.0, 1.0} and in_range(X):
            fits.append(fitted)
        else:
            assert fitted is None

    each()
    hardly_any_refused(fits, 8)


def test_fit_at_any_scale_of_data_and_hyperparameters():
    fits = []

    @ROOM
    @given(
        inference=st.sampled_from(["ep", "qp", "vb"]),
        X=hnp.arrays(float, (5, 2), elements=st.floats(-1e50, 1e50) | st.floats(-1e150, 1e150)),
        seed=st.integers(0, 20),
        log_variance=st.floats(-30, 12),
        log_lengthscale=st.floats(-12, 30),
        mean=st.floats(-20, 20),
    )
    def each(inference, X, seed, log_variance, log_lengthscale, mean):
        kernel = tilted.SquaredExponential(10.0**log_variance, 10.0**log_lengthscale)
        how = {"inference": inference, "kernel": kernel, "mean": mean}
        labels = np.where(np.random.default_rng(seed).random(5) < 0.5, 1.0, -1.0)
        found = [sound(X, labels, **how)]
        if inference != "qp":
            found.append(sound(X, np.arange(5.0) * seed, likelihood="poisson-square", **how))
        if in_range(X):
            fits.extend(found)

    each()
    hardly_any_refused(fits, 20)


@ROOM
@given(variance=ANY, lengthscale=ANY)
def test_kernels_with_any_parameters(variance, lengthscale):
    try:
        kernel = tilted.SquaredExponential(variance, lengthscale)
    except (ValueError, TypeError, OverflowError) as error:
        assert str(error)
        return
    assert np.all(np.isfinite(kernel.parameters())) and np.all(kernel.parameters() > 0)


@ROOM
@given(name=st.sampled_from(likelihoods.names()), y=ANY)
def test_labels_and_counts_of_any_kind(name, y):
    try:
        checked = likelihoods.get(name).check(y)
    except ValueError as error:
        assert str(error)
        return
    assert checked.dtype == float and np.all(np.isfinite(checked))


@ROOM
@given(
    values=st.dictionaries(
        st.sampled_from(
            [
                "tolerance",
                "max_sweeps",
                "schedule",
                "damping",
                "min_damping",
                "memory",
                "stop",
                "max_iterations",
                "relative_tolerance",
                "gradient_tolerance",
                "transform",
                "gradient",
            ]
        ),
        ANY,
        min_size=1,
        max_size=3,
    ),
)
def test_options_and_searches_with_any_values(values):
    for kind in (Options, Search):
        known = {k: v for k, v in values.items() if k in kind.__dataclass_fields__}
        try:
            made = kind(**known)
        except (ValueError, TypeError) as error:
            assert str(error)
            continue
        for name in ("tolerance", "relative_tolerance", "gradient_tolerance"):
            assert 0 <= getattr(made, name, 0) < np.inf


@ROOM
@given(scheme=ANY, seed=ANY, fold=ANY)
def test_splits_take_no_nonsense(scheme, seed, fold):
    coal = data.load("coal")
    with pytest.raises((ValueError, TypeError)):
        data.split(coal, scheme, 0, 0)
    for arguments in ((seed, 0), (0, fold)):
        try:
            part = data.split(coal, "half-of-years", *arguments)
        except ValueError as error:
            assert str(error)
            continue
        assert len(part.y_train) + len(part.y_test) == 112


KNOWN = {
    *(row["name"] for row in data.table_of_datasets()),
    *VARIANTS,
    *protocols.names(),
    *protocols.TASKS,
}


@ROOM
@given(text=st.text(max_size=12), other=st.text(max_size=12))
def test_names_that_nobody_has(text, other):
    assume(not {text, other} & KNOWN)
    for ask in (
        lambda: protocols.block(text, "classification"),
        lambda: protocols.block("as-released", text),
        lambda: protocols.method("as-released", "counts", text),
        lambda: protocols.block(f"as-released+{text}", "counts"),
        lambda: data.load(text),
        lambda: data.load("coal", variant=other),
        lambda: data.file_entry(text),
    ):
        with pytest.raises(ValueError):
            ask()


@FEW
@given(text=st.text(alphabet="varinceltghs=,:.-+0123456789e \0/", max_size=25))
def test_hyperparameters_on_the_command_line(text):
    command = ["fit", "--dataset", "coal", "--method", "ep", f"--hyperparameters={text}"]
    with np.errstate(all="ignore"):
        assert main(command) in (0, 1, 2)


# --- configurations


@pytest.fixture(scope="module")
def valid(repository):
    """Whether a configuration is one, by the workflow's schema."""
    return Draft202012Validator(configuration.read(configuration.SCHEMA)).is_valid


FOLDERS = {"name": "x", "results": "r", "tables": "t", "figures": "f"}
LEAST = {**FOLDERS, "rep": {"points": {"sets": 1, "block": 1}}}
PIECES = st.lists(
    st.sampled_from(["..", ".", "/", "~", "a", "\n", "\0", " ", "$HOME", "{x}", "-", "é"]), max_size=6
)


@ROOM
@given(key=st.sampled_from(["results", "tables", "figures"]), parts=PIECES)
def test_folders_in_a_configuration_stay_below_the_working_folder(valid, tmp_path_factory, key, parts):
    assert valid(LEAST)
    folder = "".join(parts)
    if valid({**LEAST, key: folder}):
        assert "\0" not in folder and "\n" not in folder and "{" not in folder
        root = tmp_path_factory.getbasetemp().resolve()
        assert root in (root / folder).resolve().parents


@pytest.mark.parametrize(
    "folder",
    [
        "/etc",
        "../x",
        "a/../../x",
        "~/x",
        "",
        "a\n",
        "{protocol}",
        "a b",
        ".",
        "-x",
        ".git/hooks",
        "src",
        "src/tilted",
        "Src/x",
        "workflow",
        "data/raw",
        "docs/",
        "tests//x",
        "config/.",
        "logs",
        "profiles",
        "tools",
        "benchmarks",
    ],
)
def test_folders_that_are_refused(valid, folder):
    for key in ("results", "tables", "figures"):
        assert not valid({**LEAST, key: folder})
    for folder in ("results/deep.er/x-1_2+3", "results/src", "srcs", "data2/raw"):
        assert valid({**LEAST, "results": folder})


@pytest.mark.parametrize("name, ok", [("x-1", True), ("x\n", False), ("x\n\n", False), ("", False)])
def test_names_in_a_configuration_have_no_line_ends(valid, name, ok):
    points = {"alphas": [1], "m": [1]}
    grids = {
        "pep": {**points, "rows": {"synthetic": {"splits": 1, "block": 1}}},
        "pep_classification": {
            **points,
            "protocols": ["corrected"],
            "rows": {"banana": {"splits": 1, "block": 1}},
        },
        "mnist": {**points, "seeds": 1, "steps": 1},
    }
    for study, grid in grids.items():
        assert valid({**FOLDERS, study: {name: grid}}) == ok
        assert valid({**FOLDERS, "name": name, study: {"x": grid}}) == ok
    for change in ({"rows": {f"{name}boston{name}": {"splits": 1, "block": 1}}}, {"alphas": [f"full{name}"]}):
        if not ok and name:
            assert not valid({**FOLDERS, "pep": {"x": {**grids["pep"], **change}}})


@ROOM
@given(name=st.one_of(st.text(max_size=6), PIECES.map("".join)), value=ANY)
def test_a_configuration_with_anything_in_it(valid, name, value):
    if valid({**LEAST, "name": name}):
        assert name.strip("abcdefghijklmnopqrstuvwxyz0123456789-") == "" and name
    for grid in ("qp", "pep", "pep_classification", "mnist", "truth", "lookup", "toy", "differences", "rep"):
        assert not valid({**LEAST, grid: value})
        assert not valid({**LEAST, grid: {name: value}})


DIGITS = "mnist: {a: {alphas: [0.1, 0.1000000001], m: [4], seeds: 1, steps: 1}}"
EXCESSIVE = {
    "pesc: {searches: {repeats: 1000000000}}": "pesc.searches.repeats: 1000000000 is greater",
    "pesc: {accuracy: {problems: 1000000000000000000}}": "pesc.accuracy.problems: 1000000000000000000 is",
    "pesc: {searches: {repeats: 2.0}}": "pesc.searches.repeats: 2.0 is not of type 'integer'",
    DIGITS.replace("0.1000000001", ".inf"): "inf is not of type 'number'",
    DIGITS.replace("0.1000000001", ".nan"): "nan is not of type 'number'",
    DIGITS.replace("0.1000000001", "1.0e+300"): "1e+300 is greater than the maximum",
    DIGITS: "0.1000000001: files are named by",
    "qp: " + "[" * 30 + "]" * 30: "nested too deeply",
    "qp: " + "[" * 600 + "]" * 600: "nested too deeply",
    "pesc: {accuracy: {problems: 1}, accuracy: {problems: 2}}": "'accuracy' is there twice",
    "name: y\npesc: {accuracy: {problems: 1}}": "'name' is there twice",
    "pesc: {accuracy: {problems: 010}}": "'010' in line 5 is 8 to YAML: write a decimal",
    "pesc: {accuracy: {problems: 1:30}}": "'1:30' in line 5 is 90 to YAML: write a decimal",
    "pesc: {accuracy: &a {problems: 1}, searches: {<<: *a}}": "'problems' was unexpected",
}


@pytest.mark.parametrize("text", EXCESSIVE, ids=range(len(EXCESSIVE)))
def test_a_configuration_that_asks_for_too_much(tmp_path, text):
    """Refused before anything is listed: no memory, no traceback, no choice between two values."""
    path = tmp_path / "x.yaml"
    path.write_text(f"{yaml.safe_dump(FOLDERS)}{text}\n", encoding="utf-8")
    with pytest.raises(ValueError) as caught:
        configuration.asked(configuration.read(path))
    assert EXCESSIVE[text] in str(caught.value) and len(str(caught.value)) < 600


def test_more_jobs_than_anybody_needs(monkeypatch):
    """Refused at the first too many."""
    config = {**FOLDERS, "mnist": {"a": {"alphas": [0.1, 0.2], "m": [4], "seeds": 100, "steps": 1}}}
    monkeypatch.setattr(configuration, "MOST_JOBS", 200)
    assert len(configuration.asked(config).jobs) == 200
    monkeypatch.setattr(configuration, "MOST_JOBS", 199)
    with pytest.raises(ValueError, match="more than 199 jobs"):
        configuration.asked(config)


def test_every_number_and_list_of_a_configuration_is_bounded():
    """Read off the schema, so that a new entry is bounded too."""
    unbounded = []

    def look(part, where):
        for key, inside in part.items() if isinstance(part, dict) else enumerate(part):
            if isinstance(inside, dict | list):
                look(inside, f"{where}.{key}")
        if not isinstance(part, dict) or "type" not in part:
            return
        if {"integer", "number"} & {part["type"]} if isinstance(part["type"], str) else set(part["type"]):
            bounds = [
                any(name in part for name in (n, f"exclusive{n.title()}")) for n in ("minimum", "maximum")
            ]
            unbounded.extend([] if all(bounds) else [where])
        if part["type"] == "array" and not {"maxItems"} & part.keys() and "enum" not in part["items"]:
            unbounded.append(where)

    look(configuration.read(configuration.SCHEMA), "")
    assert unbounded == []


@pytest.mark.parametrize("folder", ["results", "results/", "Results", "results/."])
def test_committed_records_are_not_replaced_unless_told_by_name(folder):
    config = {**FOLDERS, "results": folder, "pesc": {"accuracy": {"problems": 1}}}
    with pytest.raises(ValueError, match="results has the committed records, and this run would"):
        configuration.asked(config)
    with pytest.raises(ValueError, match="committed records"):
        configuration.asked({**config, "keep_records": False})
    with pytest.raises(ValueError, match="begin_anew: 'results' was expected"):
        configuration.asked({**config, "begin_anew": True})
    assert configuration.asked({**config, "keep_records": True}).jobs
    assert configuration.asked({**config, "begin_anew": "results"}).jobs
    assert configuration.asked({**config, "results": "results/preview"}).jobs


@pytest.mark.parametrize("kind", ["tables", "figures"])
def test_committed_tables_and_figures_are_not_those_of_other_records(kind):
    """A configuration copied from config/paper.yaml, of which the folder of records alone was renamed."""
    config = {"name": "mine", "results": "results/mine", "tables": "tables/mine", "figures": "figures/mine"}
    config["pesc"] = {"accuracy": {"problems": 1}}
    assert configuration.asked(config).jobs
    for folder in (kind, f"{kind}/.", kind.title()):
        with pytest.raises(ValueError, match=f"{kind}: {kind} has those of the committed records"):
            configuration.asked({**config, kind: folder})


@pytest.mark.parametrize(
    "said", [[], ["--tables", "t"], ["--figures", "f"], ["--tables", "t", "--figures", "f"]]
)
def test_committed_tables_are_not_those_of_other_records_by_command(said, monkeypatch, capsys, tmp_path):
    """`tilted tables --records results/mine`, exit 0: a mixture, which reproductions take for committed."""
    monkeypatch.setattr("papers.make.write_all", lambda *a: pytest.fail("written"))
    documents = ["--documents"] if len(said) == 4 else []
    assert main(["tables", "--records", str(tmp_path), *said, *documents]) == 2
    told = capsys.readouterr().err
    assert "has those of the committed records" in told or "are of the committed records" in told


@pytest.mark.parametrize("kind", ["tables", "figures"])
@pytest.mark.parametrize(
    "name", ["docs", "docs/figures", "src/../Docs", ".", ".git", "Results", "results/qp"]
)
def test_tables_do_not_go_among_sources_by_command(name, kind, repository, monkeypatch, capsys):
    """`tilted tables --tables docs` replaced the document pep.md by the table of that name."""
    monkeypatch.setattr("papers.make.write_all", lambda *a: pytest.fail("written"))
    assert main(["tables", f"--{kind}", str(repository / name)]) == 2
    assert "is not a folder apart from those of sources, data and logs" in capsys.readouterr().err


# --- the registry


@pytest.fixture(scope="module")
def sources(repository):
    return yaml.safe_load((repository / "data/sources.yaml").read_text(encoding="utf-8"))


def registered(sources, folder, **change):
    """The registry with one change to a file's entry."""
    files = {**sources["files"], "glass": {**sources["files"]["glass"], **change}}
    (folder / "sources.yaml").write_text(yaml.safe_dump({**sources, "files": files}), encoding="utf-8")
    load_registry.__globals__["_load"].cache_clear()
    return load_registry(folder)


@pytest.mark.parametrize(
    "url", ["http://example.org/x", "ftp://example.org/x", "file:///etc/passwd", "//x", "x", ""]
)
def test_sources_are_https(sources, tmp_path, url):
    """Without encryption there are mirrors only, which the user names."""
    with pytest.raises(data.RegistryError, match="files/glass/urls/0"):
        registered(sources, tmp_path, urls=[url])
    assert registered(sources, tmp_path, urls=["https://example.org/x"])


@FEW
@given(parts=PIECES)
def test_raw_files_stay_in_their_folder(sources, tmp_path_factory, parts):
    folder, path = tmp_path_factory.mktemp("home"), "".join(parts)
    try:
        registered(sources, folder, path=path)
    except data.RegistryError:
        return
    assert folder / "raw" in (folder / "raw" / path).resolve().parents


@FEW
@given(content=st.one_of(st.binary(max_size=60), st.text(max_size=60).map(str.encode)))
def test_a_registry_that_is_none(tmp_path_factory, content):
    folder = tmp_path_factory.mktemp("home")
    (folder / "sources.yaml").write_bytes(content)
    with pytest.raises(data.RegistryError):
        load_registry(folder)


@pytest.mark.parametrize("tag", ["!!python/object/apply:os.mkdir", "!!python/object/new:os.mkdir"])
def test_yaml_runs_nothing(tmp_path, tag):
    (tmp_path / "sources.yaml").write_text(f"x: {tag} ['{tmp_path}/made']\n", encoding="utf-8")
    with pytest.raises(data.RegistryError, match="not valid YAML"):
        load_registry(tmp_path)
    assert not (tmp_path / "made").exists()


DANGEROUS = {"load", "full_load", "unsafe_load", "load_all", "eval", "exec", "system", "popen", "extractall"}
OWNERS = ("yaml", "np", "numpy", "joblib", "os")  # whose functions of these names are meant
MODULES = {"pickle", "tarfile", "zipfile", "marshal", "shelve", "dill", "cloudpickle", "subprocess"}


def dangers(source):
    """Calls and imports by which content could run or be unpacked somewhere else."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names} & MODULES
        if isinstance(node, ast.ImportFrom):
            found |= {node.module or ""} & MODULES
        if isinstance(node, ast.Call):
            owner = getattr(getattr(node.func, "value", None), "id", "")
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            safe = name in ("load", "system") and owner not in OWNERS
            found |= {name} & DANGEROUS if not safe else set()
    return found


def test_nothing_read_can_run_or_unpack_itself(repository):
    """No pickles, no archives of several files, no YAML but the safe kind."""
    for top in ("src", "workflow"):
        for path in (repository / top).rglob("*.py"):
            # for the commit, and to start Snakemake: fixed commands
            starts = {"subprocess"} if str(path).endswith(("runs.py", "reproduce/fits.py")) else set()
            text = path.read_text(encoding="utf-8")
            assert dangers(text) == starts, path
    for line in (
        "import pickle",
        "from zipfile import ZipFile",
        "yaml.load(x)",
        "np.load(p)",
        "eval(x)",
        "os.system(x)",
    ):
        assert dangers(line) != set()
    assert dangers("yaml.safe_load(x)\ndata.load(n)\nplatform.system()") == set()


# --- contents of files

CELLS = st.text("0123456789.,-+eNA?gbRM \n", max_size=300)


@ROOM
@given(
    name=st.sampled_from(sorted(set(readers.READERS) - {"wine12", "wine13", "wine23", "coal"})),
    content=st.one_of(st.binary(max_size=80), CELLS.map(str.encode)),
)
def test_raw_files_with_anything_in_them(tmp_path_factory, name, content):
    path = tmp_path_factory.mktemp("raw") / "x.data"
    path.write_bytes(content)
    try:
        raw = readers.read(name, "as-released", [path] * 3, path.parent)
    except data.DataError as error:
        assert "x.data" in str(error)
        return
    assert np.all(np.isfinite(raw.X)) and set(raw.y) <= {-1.0, 1.0}


@ROOM
@given(content=st.binary(max_size=40), packed=st.booleans(), head=st.booleans())
def test_images_with_anything_in_them(tmp_path_factory, content, packed, head):
    path = tmp_path_factory.mktemp("raw") / "x.gz"
    content = bytes([0, 0, 8]) + content if head else content
    path.write_bytes(gzip.compress(content) if packed else content)
    try:
        assert mnist.read_idx(path).dtype == np.uint8
    except data.DataError as error:
        assert "x.gz" in str(error)


def parsed(study, path):
    """Lines of a record by its content alone, whatever check sums say of it."""
    return study.parse(path.read_bytes(), path)


def test_standard_files_and_records_with_anything_in_them(tmp_path):
    @ROOM
    @given(content=st.binary(max_size=60))
    def check(content):
        path = tmp_path / "x"
        path.write_bytes(content)
        with pytest.raises(data.DataError, match="x is corrupted"):
            data.read_standard(path)
        for stored in (content, gzip.compress(content)):
            path.write_bytes(stored)
            for read in (store.read_records, *(partial(parsed, study) for study in (*QP, *PEP, *REP, *PESC))):
                try:
                    assert len(read(path)) == 0
                except store.RecordError as error:
                    assert str(path) in str(error)
        with pytest.raises(store.RecordError, match=runs.FILE):
            runs.parse(content, runs.FILE)

    check()


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
    assert records.wrong(tmp_path) == []


def test_a_file_that_inflates_to_anything_is_refused(tmp_path, monkeypatch):
    """Before it fills the memory."""
    path = tmp_path / "fits.jsonl.gz"
    path.write_bytes(gzip.compress(b"{}\n" * 10**4))
    monkeypatch.setattr(store, "LARGEST", 3 * 10**4)
    assert len(store.read_records(path)) == 10**4
    large = gzip.compress(bytes(3 * 10**7), 1)
    path.write_bytes(large)
    for read in (store.read_records, store.first_record, partial(parsed, VARIANCES)):
        with pytest.raises(store.RecordError, match="fits.jsonl.gz"):
            read(path)
    tracemalloc.start()
    with pytest.raises(OSError, match="more than 30000 bytes when inflated"):
        store.inflated(large)
    _, most = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert most < 10**6


COMMITTED = {
    "results/rep/boundary.csv.gz": partial(parsed, BOUNDARY),
    "results/rep/exact.csv.gz": partial(parsed, EXACT),
    "results/qp/truth/coal.json.gz": store.read_records,
}


def text_of(content):
    """All that was read."""
    return content.to_csv() if hasattr(content, "to_csv") else json.dumps(content)


@pytest.mark.parametrize("name", COMMITTED)
def test_a_record_with_a_damaged_byte_is_named_or_reads_the_same(repository, tmp_path, name):
    """Any byte: the check sum is that of the gzip format."""
    whole = (repository / name).read_bytes()
    path = tmp_path / name.rpartition("/")[2]
    path.write_bytes(whole)
    expected = text_of(COMMITTED[name](path))
    rng = np.random.default_rng(0)
    places = [*range(12), *range(len(whole) - 9, len(whole)), *rng.integers(0, len(whole), 10).tolist()]
    for place in places:
        damaged = bytearray(whole)
        damaged[place] ^= 1 << int(rng.integers(8))
        path.write_bytes(damaged)
        try:
            assert text_of(COMMITTED[name](path)) == expected  # a header's time, a bit that nothing uses
        except store.RecordError as error:
            assert path.name in str(error)
    path.write_bytes(whole[: len(whole) // 2])
    with pytest.raises(store.RecordError, match=path.name):
        COMMITTED[name](path)
