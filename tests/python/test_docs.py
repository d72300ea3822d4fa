"""docs/reference/python.md tells the truth about codes, calls and exceptions."""

import inspect
import re

import dpnmf
import dpnmf.errors
from dpnmf import Client, PrivateNMF
from servers import SOURCE

PAGE = (SOURCE / "docs/reference/python.md").read_text()
ERRORS = (SOURCE / "docs/reference/errors.md").read_text()
CODE = re.compile(r'(?:Error|error_of)\(\s*(?:kind, )?"([a-z0-9]+(?:-[a-z0-9]+)*)"')


def codes_raised():
    sources = (SOURCE / "python/src/dpnmf").rglob("*.py")
    return {code for path in sources for code in CODE.findall(path.read_text())}


def own_codes():
    table = PAGE.split("Codes that only this package uses:")[1].split("\n\n")[1]
    return set(re.findall(r"`([a-z0-9]+(?:-[a-z0-9]+)+)`", "".join(row.split("|")[1] for row in table.splitlines())))


def test_every_code_is_documented():
    raised = codes_raised()
    assert len(raised) > 30
    undocumented = {c for c in raised if f"`{c}`" not in ERRORS} - own_codes()
    assert not undocumented


def test_codes_of_the_package_alone_are_raised_here():
    assert own_codes() <= codes_raised()


def test_every_exception_is_documented():
    for name, kind in vars(dpnmf.errors).items():
        if inspect.isclass(kind) and issubclass(kind, dpnmf.DpnmfError):
            assert f"`{name}`" in PAGE
            assert getattr(dpnmf, name) is kind


def test_retriable_codes_are_documented():
    row = next(line for line in PAGE.splitlines() if line.startswith("| `StateError`"))
    assert set(re.findall(r"`([a-z]+-[a-z-]+)`", row)) == dpnmf.errors.RETRIABLE_CODES


def test_every_public_method_is_documented():
    for kind in (Client, PrivateNMF):
        inherited = {n for base in kind.__mro__[1:] for n in vars(base)} if kind is PrivateNMF else set()
        names = {n for n, _ in inspect.getmembers(kind) if not n.startswith("_")} - inherited - {"close", "run_id", "identities"}
        missing = {n for n in names if not re.search(rf"\b{n}\b", PAGE)}
        assert not missing, kind


def test_python_in_the_page_is_python():
    for block in re.findall(r"```python\n(.*?)```", PAGE, flags=re.DOTALL):
        compile(block, "docs/reference/python.md", "exec")
