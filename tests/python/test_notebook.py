"""The notebook runs, and docs/reference/python.md shows it as it is."""

import sys

import pytest
from servers import SOURCE

sys.path.insert(0, str(SOURCE / "python"))
import render_notebook  # noqa: E402

NOTEBOOK = SOURCE / "python/examples/digits.ipynb"
PAGE = SOURCE / "docs/reference/python.md"


@pytest.fixture(scope="module")
def executed(servers):
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("DPNMF_CONFIG", str(servers.config))
        return render_notebook.execute(NOTEBOOK)


def test_the_notebook_runs(executed):
    kinds = [o.output_type for c in executed.cells if c.cell_type == "code" for o in c.outputs]
    assert kinds and "error" not in kinds


def test_progress_and_pictures_are_shown(executed):
    data = [o.get("data", {}) for c in executed.cells if c.cell_type == "code" for o in c.outputs]
    progress = [d["text/html"] for d in data if "<progress" in d.get("text/html", "")]
    assert any('max="2" value="2"' in html and "completed 2/2" in html for html in progress)
    assert any("image/png" in d for d in data)
    assert any("<table>" in d.get("text/html", "") for d in data)


def test_the_notebook_is_kept_without_outputs():
    import nbformat

    assert not any(c.get("outputs") for c in nbformat.read(NOTEBOOK, as_version=4).cells)


def test_the_page_shows_the_notebook(executed, tmp_path):
    """Cell by cell; outputs differ, since the noise does."""
    shown = PAGE.read_text().split("<!-- digits.ipynb -->")[1].split("<!-- end -->")[0]
    for cell in executed.cells:
        assert cell.source.lstrip("# ").split("\n")[0] in shown
        if cell.cell_type == "code":
            assert f"```python\n{cell.source}\n```" in shown
    for picture in PAGE.parent.glob("python_digits_*.png"):
        assert f"({picture.name})" in shown
    assert render_notebook.markdown(executed, tmp_path / "x").count("```python") == shown.count("```python")
