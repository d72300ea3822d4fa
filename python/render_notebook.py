"""Runs a notebook and writes its cells and outputs into a page of the docs.

    DPNMF_CONFIG=.demo/dpnmf.toml .venv/bin/python python/render_notebook.py \
        python/examples/digits.ipynb docs/reference/python.md

The page has a line `<!-- NAME.ipynb -->` and later `<!-- end -->`; what stands
between them is replaced. Pictures are written beside the page.
"""

import base64
import pathlib
import re
import sys
from typing import Any

import jupyter_client
import nbclient
import nbformat


def execute(path: pathlib.Path) -> Any:
    """The notebook with the outputs of this interpreter; raises at the first error."""
    notebook = nbformat.read(path, as_version=4)
    manager = jupyter_client.AsyncKernelManager(kernel_name="python3")
    manager.kernel_spec.argv[0] = sys.executable
    nbclient.NotebookClient(notebook, km=manager, timeout=600).execute()
    return notebook


def markdown(notebook: Any, picture_stem: pathlib.Path) -> str:
    blocks: list[str] = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            blocks.append(re.sub(r"^#", "###", cell.source))
            continue
        blocks.append(f"```python\n{cell.source}\n```")
        for output in cell.outputs:
            data = output.get("data", {"text/plain": output.get("text", "")})
            if "image/png" in data:
                picture = picture_stem.with_name(f"{picture_stem.name}_{len(blocks)}.png")
                picture.write_bytes(base64.b64decode(data["image/png"]))
                blocks.append(f"![the parts]({picture.name})")
            elif "text/html" in data and "<progress" in data["text/html"]:
                words = re.sub(r"<br>", "\n", data["text/html"])
                blocks.append(f"```\n{re.sub(r'<[^>]*>', '', words).strip()}\n```")
            else:
                blocks.append(f"```\n{data['text/plain'].rstrip()}\n```")
    return "\n\n".join(blocks)


def code_cells(notebook: Any) -> list[str]:
    return [cell.source for cell in notebook.cells if cell.cell_type == "code"]


def main(notebook: pathlib.Path, page: pathlib.Path) -> None:
    text = page.read_text()
    start, end = f"<!-- {notebook.name} -->\n", "\n<!-- end -->"
    before, rest = text.split(start)
    _, after = rest.split(end)
    stem = page.with_name(f"{page.stem}_{notebook.stem}")
    for old in page.parent.glob(f"{stem.name}_*.png"):
        old.unlink()
    page.write_text(f"{before}{start}\n{markdown(execute(notebook), stem)}\n{end}{after}")


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]), pathlib.Path(sys.argv[2]))
