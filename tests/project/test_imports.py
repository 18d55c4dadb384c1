"""The house rules that a program can check: import order, sizes, forbidden idioms."""

import ast
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PACKAGE = ROOT / "src" / "tilted"
ORDER = """
linalg gaussian quadrature optimise data kernels likelihoods projections lookup posteriors inference
hyperparameters metrics protocols provenance api experiments results __main__
""".split()
FORBIDDEN = {
    "log of a cdf": r"log\(\s*(scipy\.stats\.)?(norm\.cdf|ndtr)\(",
    "bare except": r"except( Exception)?:\s*(pass)?$",
    "nan hidden": r"nan_to_num|np\.nan(mean|std|sum)",
    "global random numbers": r"np\.random\.(seed|rand|randn|normal|shuffle|uniform|permutation)\(",
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


def violations(room: str, source: str) -> list[str]:
    """Imports of rooms that come after ``room``."""
    allowed = ORDER[: ORDER.index(room) + 1]
    rooms = {room_of(name) for name in imported(source)} - {"__version__"}
    return sorted(str(r) for r in rooms if r not in allowed)


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_imports_go_one_way(path):
    room = path.relative_to(PACKAGE).parts[0].removesuffix(".py")
    if room == "__init__":
        assert not imported(path.read_text(encoding="utf-8")), "the package imports lazily only"
        return
    assert room in ORDER, f"{room} has no place in the order"
    assert violations(room, path.read_text(encoding="utf-8")) == []


def test_the_import_check_can_fail():
    assert violations("kernels", "from tilted.api import fit") == ["api"]
    assert violations("kernels", "def f():\n    import tilted.results.store") == ["results"]
    assert violations("api", "from tilted import kernels") == []


@pytest.mark.parametrize("path", modules(), ids=lambda p: str(p.relative_to(PACKAGE)))
def test_no_forbidden_idioms_and_no_giants(path):
    text = path.read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 350
    for what, pattern in FORBIDDEN.items():
        found = re.search(pattern, text, re.M)
        assert not found, f"{what}: {found[0]!r}"


def test_the_idiom_check_can_fail():
    samples = {
        "log of a cdf": "np.log(norm.cdf(x))",
        "bare except": "    except:\n",
        "nan hidden": "np.nanmean(a)",
        "global random numbers": "np.random.seed(0)",
        "snakemake": "import snakemake",
    }
    for what, sample in samples.items():
        assert re.search(FORBIDDEN[what], sample, re.M), what
    assert not re.search(FORBIDDEN["global random numbers"], "np.random.RandomState(3)")
