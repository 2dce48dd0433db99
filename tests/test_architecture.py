"""The house keeps its shape: imports run downward, files and functions stay readable in one sitting."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
LABKIT = ROOT / "labkit"
# From the roof to the ground. `cli` and `__main__` stand outside and import anything.
FLOORS = [
    "lab", "bench", "advisor", "simulate", "parallel", "workload", "engine", "training", "compress", "kvcache",
    "model", "kernels", "ground",
]  # fmt: skip
GROUND = {"errors", "paths", "report", "machine", "progress"}
OUTSIDE = {"cli", "__main__", "__init__"}
MOST_LINES_OF_A_FILE = 350
MOST_LINES_OF_A_FUNCTION = 60
FILES = sorted(LABKIT.rglob("*.py"))

Function = ast.FunctionDef | ast.AsyncFunctionDef


def name_of(path: Path) -> str:
    """A file's name for a test's id and a failure's message."""
    return path.relative_to(ROOT).as_posix()


def parsed(path: Path) -> ast.Module:
    """The file's syntax tree."""
    return ast.parse(path.read_text(encoding="utf-8"), str(path))


def floor_of(module: str) -> str | None:
    """The floor of a dotted module name; None for those outside the house."""
    parts = module.split(".")
    if parts[0] != "labkit" or len(parts) == 1 or parts[1] in OUTSIDE:
        return None
    return "ground" if parts[1] in GROUND else parts[1]


def module_of(path: Path) -> str:
    """The dotted name of a file of labkit."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" and len(parts) > 2 else parts)


def imports(path: Path) -> Iterator[tuple[int, str]]:
    """(line, dotted module) of every import in a file, wherever it stands; relative ones made absolute."""
    package = path.relative_to(ROOT).parent.parts
    for node in ast.walk(parsed(path)):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(package[: len(package) - node.level + 1]) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            yield from ((node.lineno, f"{module}.{alias.name}") for alias in node.names)


def wrong_imports(path: Path) -> list[str]:
    """The file's imports that run upward, in words."""
    own = floor_of(module_of(path))
    if own is None:
        return []
    found = []
    for line, module in imports(path):
        floor = floor_of(module)
        if floor in FLOORS and FLOORS.index(floor) < FLOORS.index(own):
            found.append(f"{name_of(path)}:{line} ({own}) imports {module} ({floor})")
    return found


def functions(tree: ast.AST) -> Iterator[Function]:
    """Every function and method of a file, nested ones too."""
    return (node for node in ast.walk(tree) if isinstance(node, Function))


def is_plain(node: ast.AST) -> bool:
    """Whether a method's name says it all: a single statement, such as a derived property."""
    return isinstance(node, Function) and len(node.body) == 1


def interface() -> set[str]:
    """Names of methods that some class of labkit documents: their overrides need not say it again."""
    classes = [node for path in FILES for node in ast.walk(parsed(path)) if isinstance(node, ast.ClassDef)]
    methods = [node for each in classes for node in each.body if isinstance(node, Function)]
    return {node.name for node in methods if ast.get_docstring(node)}


def undocumented(tree: ast.Module, explained: set[str]) -> Iterator[str]:
    """Public classes, functions, and methods beyond one statement that no docstring explains."""
    for node in tree.body:
        if not isinstance(node, Function | ast.ClassDef) or node.name.startswith("_"):
            continue
        if ast.get_docstring(node) is None:
            yield f"{node.name} (line {node.lineno})"
        for method in node.body if isinstance(node, ast.ClassDef) else ():
            told = not isinstance(method, Function) or method.name in explained or ast.get_docstring(method)
            if not told and not method.name.startswith("_") and not is_plain(method):
                yield f"{node.name}.{method.name} (line {method.lineno})"


def test_there_is_a_house() -> None:
    assert len(FILES) > 20


def test_every_folder_is_a_known_floor() -> None:
    folders = {path.relative_to(LABKIT).parts[0] for path in FILES if len(path.relative_to(LABKIT).parts) > 1}
    modules = {path.stem for path in FILES if len(path.relative_to(LABKIT).parts) == 1}
    assert folders <= set(FLOORS)
    assert modules <= GROUND | OUTSIDE


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_imports_run_downward(path: Path) -> None:
    assert wrong_imports(path) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_a_file_is_one_idea(path: Path) -> None:
    assert len(path.read_text(encoding="utf-8").splitlines()) <= MOST_LINES_OF_A_FILE
    long = [
        f"{node.name} (line {node.lineno})"
        for node in functions(parsed(path))
        if (node.end_lineno or 0) - node.lineno + 1 > MOST_LINES_OF_A_FUNCTION
    ]
    assert long == []


@pytest.fixture(scope="module")
def explained() -> set[str]:
    """Methods that are documented where they are introduced."""
    return interface()


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_everything_public_says_what_it_is_for(path: Path, explained: set[str]) -> None:
    tree = parsed(path)
    if tree.body:
        assert ast.get_docstring(tree), "the module has no docstring"
    assert list(undocumented(tree, explained)) == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_input_is_not_validated_with_assert(path: Path) -> None:
    """`python -O` removes asserts, and their messages name no remedy."""
    lines = [node.lineno for node in ast.walk(parsed(path)) if isinstance(node, ast.Assert)]
    assert lines == []


@pytest.mark.parametrize("path", FILES, ids=name_of)
def test_nothing_is_unpickled(path: Path) -> None:
    """A pickle runs code: model files are read as safetensors, GGUF and JSON only."""
    assert not [module for _, module in imports(path) if module.split(".")[0] in {"pickle", "dill", "joblib"}]


@pytest.mark.parametrize(
    ("where", "line", "upward"),
    [
        ("engine/x.py", "from labkit.lab import figures", True),
        ("engine/x.py", "from labkit import lab", True),
        ("engine/x.py", "import labkit.bench.timing", True),
        ("engine/x.py", "from ..lab import figures", True),
        ("engine/x.py", "from labkit.model.config import preset", False),
        ("engine/x.py", "from .sampling import sample", False),
        ("lab/x.py", "from labkit.engine import generate", False),
        ("paths.py", "from labkit.model import config", True),
        ("machine.py", "from labkit.errors import LabkitError", False),
        ("cli.py", "from labkit.lab import launch", False),
    ],
)
def test_the_rule_itself(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, where: str, line: str, upward: bool
) -> None:
    monkeypatch.setitem(globals(), "ROOT", tmp_path)
    path = tmp_path / "labkit" / where
    path.parent.mkdir(parents=True)
    path.write_text(line + "\n")
    assert bool(wrong_imports(path)) == upward
