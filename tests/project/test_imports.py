"""The house rules that a program can check, each over both packages: imports, sizes, forbidden idioms."""

import ast
import re
from functools import cache
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

SOURCES = Path(__file__).resolve().parents[2] / "src"
ORDER = {
    "tilted": [
        {"gaussian", "numerics"},
        {"kernels", "likelihoods"},
        {"projections", "posteriors"},
        {"inference"},
        {"learning", "exact", "bayesopt"},
        {"corrections"},
        {"api"},
        {"estimators"},
    ],
    "papers": [
        {"core"},
        {"data"},
        {"qp", "pep", "rep", "pesc"},
        {"configuration"},
        {"plan", "make"},
        {"captions"},
        {"reproduce", "compare"},
        {"cli"},
        {"__main__"},
    ],
}
"""A room imports from rooms of earlier lines, and from itself; papers from all of the library too."""

MOST_ROOMS = 15
MOST_LINES = 600
FORBIDDEN = {
    "log of a cdf": r"\blog(1p|2|10)?\(([-\w.+* ]*\b)?(cdf|sf|ndtr|erfc?)\(",
    "bare except": r"\bexcept( (Base)?Exception)?:",
    "nan hidden": r"\bnan(_to_num|mean|median|std|var|(cum)?(sum|prod)|min|max|arg\w+|percentile|quantile)\b",
    "global random numbers": r"\b(np|numpy)\.random( as |\.(?!default_rng\b)[a-z])"
    r"|from numpy\.random import (.*, )?(?!default_rng\b)[a-z]|from numpy import (.*, )?random\b"
    r"|^\s*(import|from) random\b|\b(default_rng|RandomState)\(\)",
    "snakemake": r"^\s*(import|from) snakemake",
}


@cache
def sources():
    """Text of every module of both packages by its dotted name."""
    found = {}
    for path in sorted(SOURCES.rglob("*.py")):
        parts = path.relative_to(SOURCES).with_suffix("").parts
        name = ".".join(parts[:-1] if parts[-1] == "__init__" else parts)
        found[name] = path.read_text(encoding="utf-8")
    return found


def imported(source):
    """Dotted names of our packages that a source imports, anywhere in it, or names in strings."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
        elif isinstance(node, ast.Constant) and str(node.value) in sources():
            found.add(str(node.value))
    return {name for name in found if name.split(".")[0] in ORDER}


def modules_of(source):
    """Modules of our packages that a source imports; of a name in a module, that module."""
    return {name if name in sources() else name.rpartition(".")[0] for name in imported(source)}


def room_of(module):
    """Package and room of a module; no room for the package itself."""
    package, _, rest = module.partition(".")
    return package, rest.split(".")[0]


def allowed(importer, room):
    """Whether a room may import from another: an earlier one, itself, or the library."""
    if importer[0] != room[0]:
        return importer[0] == "papers"
    if importer == room or not room[1]:  # a package's version
        return True
    level = {one: i for i, rooms in enumerate(ORDER[room[0]]) for one in rooms}
    return level[room[1]] < level[importer[1]]


def violations(module, source):
    """Pairs of a room and another that a source in the first imports against the order."""
    importer = room_of(module)
    rooms = {room_of(name) for name in modules_of(source)}
    return {(".".join(importer), ".".join(room)) for room in rooms if not allowed(importer, room)}


def test_every_room_has_a_place_and_they_are_few():
    for package, order in ORDER.items():
        rooms = {room_of(name)[1] for name in sources() if name.startswith(f"{package}.")}
        assert rooms == set().union(*order)
        assert len(rooms) <= MOST_ROOMS


def test_imports_go_one_way():
    """Imports for type checkers and by name included; only what a package itself offers goes any way."""
    found = set()
    for module, source in sources().items():
        found |= violations(module, source) if "." in module else set()
    assert found == set()


AGAINST = [
    ("tilted.kernels.white", "from tilted.api import fit", "tilted.api"),
    ("tilted.kernels.white", "import_module('tilted.api')", "tilted.api"),
    ("tilted.learning.dense", "from tilted.exact import chains", "tilted.exact"),
    ("tilted.api", "def f():\n    import papers.data", "papers.data"),
    ("papers.qp.fits", "from papers.rep import fits", "papers.rep"),
    ("papers.core.study", "from papers import data", "papers.data"),
]
ALONG = ["from tilted import kernels, __version__", "from tilted.kernels.white import White", "import os"]


def test_the_check_of_imports_can_fail():
    for module, source, room in AGAINST:
        assert violations(module, source) == {(".".join(room_of(module)), room)}
    for source in ALONG:
        assert violations("tilted.api", source) == set() == violations("papers.core.study", source)


def cycle(graph):
    """Modules that import each other in a circle; none if there is no circle."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return error.args[1]
    return []


def test_no_imports_go_in_circles():
    """Within rooms either, and not for type checkers."""
    graph = {module: modules_of(source) - {module} for module, source in sources().items() if "." in module}
    assert cycle(graph) == []
    assert cycle({"a": {"b"}, "b": {"c"}, "c": {"a"}})


def code_of(source):
    """The source without comments and docstrings, which may name what the code must not use."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.unparse(tree)


def idioms(source):
    """What of ``FORBIDDEN`` a source contains, each with the piece that does."""
    code = code_of(source)
    found = {what: re.search(pattern, code, re.M) for what, pattern in FORBIDDEN.items()}
    return [f"{what}: {match[0]}" for what, match in found.items() if match]


def test_no_forbidden_idioms():
    assert {module: found for module, source in sources().items() if (found := idioms(source))} == {}


def test_no_giants():
    lines = {module: len(source.splitlines()) for module, source in sources().items()}
    assert {module: number for module, number in lines.items() if number > MOST_LINES} == {}


WRONG = {
    "log of a cdf": ["np.log(stats.norm.cdf(x))", "np.log(1 - norm.cdf(x))", "np.log1p(-ndtr(x))"],
    "bare except": ["try:\n    a()\nexcept: pass", "try:\n    a()\nexcept BaseException  :\n    b()"],
    "nan hidden": [f"{call}(a)" for call in ("np.nan" + "_to_num", "np.nan" + "mean", "nancumsum")],
    "global random numbers": [
        "np.random.random(3)",
        "from numpy.random import Generator, rand",
        "import random",
        "np.random.default_rng()",
    ],
    "snakemake": ["def f():\n    from snakemake.utils import validate"],
}
RIGHT = [
    "log_ndtr(x) + norm.logcdf(x) + np.log(x) - norm.cdf(x)",
    "try:\n    a()\nexcept Exception as error:\n    record(error)",
    "np.isnan(a) | (a == np.nan)",
    "from numpy.random import Generator, default_rng",
    # docstrings and comments may name what code may not call
    '"""Nothing here is np.random.seed(0).\n\n    import snakemake\n"""  # nor np.nanmax',
]


def test_the_search_for_idioms_finds_the_wrong_ones_only():
    for what, sources in WRONG.items():
        for source in sources:
            assert [found.split(":")[0] for found in idioms(source)] == [what], source
    assert set(WRONG) == set(FORBIDDEN)
    assert [source for source in RIGHT if idioms(source)] == []
