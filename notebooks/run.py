"""Run the notebooks from top to bottom and keep their outputs: ``python notebooks/run.py``.

The files then hold what a reader sees without running them; no times, no paths of this machine.
"""

import sys
from pathlib import Path

import nbformat
from nbclient import NotebookClient

FOLDER = Path(__file__).parent
TIMEOUT = 300
"""Seconds for one cell."""


def run(path: Path) -> nbformat.NotebookNode:
    """A notebook, run in a new process from top to bottom.

    Raises:
        nbclient.exceptions.CellExecutionError: a cell fails.
    """
    notebook = nbformat.read(path, as_version=4)
    client = NotebookClient(
        notebook,
        timeout=TIMEOUT,
        kernel_name="python3",
        record_timing=False,
        resources={"metadata": {"path": str(FOLDER)}},
    )
    client.execute()
    notebook.metadata["language_info"] = {"name": "python"}
    for cell in notebook.cells:
        if cell.cell_type != "code":
            continue
        # what is said of compiling, or of a slow machine, is no result
        cell["outputs"] = [out for out in cell["outputs"] if out.get("name") != "stderr"]
    return notebook


if __name__ == "__main__":
    for path in sorted(FOLDER.glob("*.ipynb")):
        if len(sys.argv) > 1 and path.name not in sys.argv[1:]:
            continue
        print(path.name)
        nbformat.write(run(path), path)
