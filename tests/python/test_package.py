"""The wheel, and the package without one."""

import ast
import importlib.metadata
import os
import pathlib
import subprocess
import sys
import zipfile

import pytest
from servers import SOURCE

import dpnmf

WHEEL = os.environ.get("DPNMF_WHEEL")
needs_wheel = pytest.mark.skipif(WHEEL is None, reason="run by tests/python/run.sh")


@needs_wheel
def test_the_wheel_has_stubs_and_types():
    with zipfile.ZipFile(WHEEL) as wheel:
        names = set(wheel.namelist())
    assert {"dpnmf/py.typed", "dpnmf/v1/analyst_pb2.py", "dpnmf/v1/analyst_pb2.pyi", "dpnmf/v1/analyst_pb2_grpc.py"} <= names
    assert pathlib.Path(WHEEL).name.endswith("-py3-none-any.whl")


@needs_wheel
def test_the_tests_run_on_the_installed_wheel():
    assert not pathlib.Path(dpnmf.__file__).is_relative_to(SOURCE / "python")
    assert importlib.metadata.version("dpnmf") == dpnmf.__version__


def test_the_version_is_that_of_the_programs():
    text = (SOURCE / "CMakeLists.txt").read_text()
    assert f"project(dpnmf VERSION {dpnmf.__version__} " in text


def test_types():
    done = subprocess.run(
        ["mypy", "--config-file", SOURCE / "python/pyproject.toml", "--cache-dir", os.devnull],
        capture_output=True, text=True, cwd=SOURCE / "python",
    )  # fmt: skip
    assert done.returncode == 0, done.stdout


def test_the_oldest_python_can_read_every_file():
    """The types are checked for it too: python_version in pyproject.toml."""
    text = (SOURCE / "python/pyproject.toml").read_text()
    assert 'requires-python = ">=3.9"' in text and 'python_version = "3.9"' in text
    files = [file for place in ("python", "examples") for file in (SOURCE / place).rglob("*.py")]
    assert len(files) > 20
    for file in files:
        ast.parse(file.read_text(), file, feature_version=(3, 9))


def test_everything_public_is_listed():
    assert {"PrivateNMF", "RunOptions", "Client"} <= set(dpnmf.__all__) <= set(dir(dpnmf))
    assert all(hasattr(dpnmf, name) for name in dir(dpnmf))


def test_the_apt_packages_alone_are_enough():
    """No wheel, no venv: stubs by stubs.py, and PYTHONPATH."""
    subprocess.run([sys.executable, SOURCE / "python/stubs.py"], check=True)
    done = subprocess.run(
        ["/usr/bin/python3", "-c", "import dpnmf; print(dpnmf.__file__)"],
        env={"PYTHONPATH": str(SOURCE / "python/src"), "PATH": "/usr/bin:/bin"}, capture_output=True, text=True,
    )  # fmt: skip
    assert done.stdout.startswith(str(SOURCE / "python/src")), done.stderr


def test_importing_the_package_is_quick_to_start():
    """Neither scikit-learn nor matplotlib nor pandas comes with `import dpnmf`."""
    code = "import sys, dpnmf; print([m for m in ('sklearn', 'matplotlib', 'pandas', 'scipy') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.stdout.strip() == "[]", done.stderr
