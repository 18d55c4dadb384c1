"""The house rules that a program can check: import order, sizes, forbidden idioms."""

import ast
import re
from pathlib import Path

import pytest

from tilted.provenance import REGISTRIES

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tilted"
ORDER = """
files mkl linalg gaussian quadrature optimise data kernels linear likelihoods projections lp lookup posteriors
inference warmstarts hyperparameters means regression sparse_search minibatch metrics exact bayesopt protocols
provenance api estimators experiments results __main__
""".split()
FORBIDDEN = {
    "log of a cdf": r"\blog(1p|2|10)?\(([-\w.+* ]*\b)?(cdf|sf|ndtr|erfc?)\(",
    "bare except": r"\bexcept( (Base)?Exception)?:",
    "nan hidden": r"\bnan(_to_num|mean|median|std|var|(cum)?(sum|prod)|min|max|arg\w+|percentile|quantile)\b",
    "global random numbers": r"\b(np|numpy)\.random( as |\.(?!default_rng\b)[a-z])"
    r"|from numpy\.random import (.*, )?(?!default_rng\b)[a-z]|from numpy import (.*, )?random\b"
    r"|^\s*(import|from) random\b|\b(default_rng|RandomState)\(\)",
    "snakemake": r"^\s*(import|from) snakemake",
}


def modules():
    return sorted(PACKAGE.rglob("*.py"))


def room_of(module: str) -> str | None:
    parts = module.split(".")
    return parts[1] if parts[0] == "tilted" and len(parts) > 1 else None


def imported(source: str) -> set[str]:
    """Dotted names of this package that a source imports, anywhere in it."""
    found = set()
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "relative imports are not used here"
            found |= {f"{node.module}.{alias.name}" for alias in node.names}
    return {name for name in found if name.split(".")[0] == "tilted"}


def named(source: str) -> set[str]:
    """Modules of this package that a source names in strings, to import them with ``import_module``."""
    strings = {node.value for node in ast.walk(ast.parse(source)) if isinstance(node, ast.Constant)}
    return {value for value in strings if re.fullmatch(r"tilted(\.\w+)+", str(value))}


def violations(room: str, source: str) -> list[str]:
    """Imports of rooms that come after ``room``."""
    allowed = ORDER[: ORDER.index(room) + 1]
    rooms = {room_of(name) for name in imported(source) | named(source)} - {"__version__"}
    return sorted(str(r) for r in rooms if r not in allowed)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        assert not imported(path.read_text(encoding="utf-8")), "the package imports lazily only"
        return
    assert room in ORDER, f"{room} has no place in the order"
    assert violations(room, path.read_text(encoding="utf-8")) == []


def hidden(source: str) -> set[str]:
    """Names that a source imports from a registry, which are code that a closure would not hold."""
    found = {tuple(name.rsplit(".", 1)) for name in imported(source)} - FINDERS
    return {
        f"{package}.{name}"
        for package, name in found
        if package in REGISTRIES and not exists(f"{package}.{name}")
    }


FINDERS = {
    *(("tilted.likelihoods", name) for name in ("get", "names", "module_of")),
    *(("tilted.inference", name) for name in ("get_rule", "RULES")),
    ("tilted", "__version__"),
}


def exists(module: str) -> bool:
    path = PACKAGE.joinpath(*module.split(".")[1:])
    return path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_nothing_is_hidden_from_the_closures(path):
    assert hidden(path.read_text(encoding="utf-8")) == set()


def test_the_check_of_what_is_hidden_can_fail():
    assert hidden("from tilted.kernels import SquaredExponential") == {"tilted.kernels.SquaredExponential"}
    assert hidden("from tilted import fit") == {"tilted.fit"}
    assert hidden("from tilted.kernels.squared_exponential import SquaredExponential") == set()
    assert hidden("from tilted import kernels, __version__\nfrom tilted.likelihoods import get") == set()


def test_the_import_check_can_fail():
    assert violations("kernels", "from tilted.api import fit") == ["api"]
    assert violations("kernels", "def f():\n    import tilted.results.store") == ["results"]
    assert violations("kernels", "import_module('tilted.api')") == ["api"]
    assert violations("api", "RULES = {'x': 'tilted.kernels'}") == []
    assert violations("api", "from tilted import kernels") == []


def code_of(source: str) -> str:
    """The source without comments and docstrings, which may name what the code must not use."""
    tree = ast.parse(source)
    for node in ast.walk(tree):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant):
            node.value.value = ""
    return ast.unparse(tree)


def idioms(source: str) -> list[str]:
    """What of ``FORBIDDEN`` a source contains, each with the piece that does."""
    found = {what: re.search(pattern, code_of(source), re.M) for what, pattern in FORBIDDEN.items()}
    return [f"{what}: {match[0]}" for what, match in found.items() if match]


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_forbidden_idioms_and_no_giants(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 350
    assert idioms(text) == []


WRONG = {
    "log of a cdf": [
        "np.log(norm.cdf(x))",
        "np.log(stats.norm.cdf(x))",
        "np.log(ndtr(x))",
        "math.log(scipy.special.ndtr(x))",
        "np.log(1 - norm.cdf(x))",
        "np.log1p(-ndtr(x))",
        "np.log(0.5 * erfc(x))",
    ],
    "bare except": [
        "try:\n    a()\nexcept:\n    pass",
        "try:\n    a()\nexcept:  # comment\n    b()",
        "try:\n    a()\nexcept: pass",
        "try:\n    a()\nexcept BaseException  :\n    b()",
    ],
    "nan hidden": [
        f"{call}(a)"
        for call in ("np.nan" + "_to_num", "np.nan" + "mean", "numpy.nanmax", "np.nanargmin", "nancumsum")
    ],
    "global random numbers": [
        "np.random.seed(0)",
        "np.random.choice(3)",
        "np.random.random(3)",
        "numpy.random.standard_normal(3)",
        "from numpy.random import Generator, rand",
        "from numpy import random",
        "import random",
        "np.random.default_rng()",
    ],
    "snakemake": ["import snakemake", "def f():\n    from snakemake.utils import validate"],
}
RIGHT = [
    "log_ndtr(x) + norm.logcdf(x) + np.log(x) - norm.cdf(x)",
    "try:\n    a()\nexcept ValueError:\n    pass",
    "try:\n    a()\nexcept Exception as error:\n    record(error)",
    "np.isnan(a) | (a == np.nan)",
    "np.random.RandomState(3).rand()",
    "np.random.default_rng(3).random()",
    "from numpy.random import Generator, default_rng",
    # docstrings and comments may name what code may not call
    '"""Nothing here is np.random.seed(0).\n\n    import snakemake\n"""  # nor np.nanmax',
]


@pytest.mark.parametrize("what, source", [(what, source) for what in FORBIDDEN for source in WRONG[what]])
def test_wrong_idioms_are_found(what, source):
    assert [found.split(":")[0] for found in idioms(source)] == [what]


@pytest.mark.parametrize("source", RIGHT)
def test_right_idioms_are_not(source):
    assert idioms(source) == []
