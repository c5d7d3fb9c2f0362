"""The notebooks run from top to bottom, and read well unrun: outputs, pictures, no traces."""

import json
import re
import runpy
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("nbclient", reason="extra [notebook] runs the notebooks")
pytest.importorskip("sb3_contrib", reason="extra [train] is what the second notebook shows")

FOLDER = Path(__file__).parent.parent / "notebooks"
NOTEBOOKS = sorted(FOLDER.glob("*.ipynb"))
LARGEST = 250_000
"""Bytes of a notebook with its pictures."""


def cells(path: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))["cells"]
    return found


def test_there_are_three():
    assert [path.stem for path in NOTEBOOKS] == [
        "01_step_the_environment",
        "02_train_and_watch",
        "03_read_a_result",
    ]


@pytest.mark.filterwarnings("ignore")  # Jupyter's own, of event loops and ports
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_runs_from_top_to_bottom(path, monkeypatch, tmp_path):
    monkeypatch.setenv("JUPYTER_RUNTIME_DIR", str(tmp_path))
    run = runpy.run_path(str(FOLDER / "run.py"))["run"]
    notebook = run(path)
    code = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert [cell.execution_count for cell in code] == list(range(1, len(code) + 1))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_reads_well_unrun(path):
    code = [cell for cell in cells(path) if cell["cell_type"] == "code"]
    assert [cell["execution_count"] for cell in code] == list(range(1, len(code) + 1)), (
        "not all was run in order: python notebooks/run.py"
    )
    outputs = [output for cell in code for output in cell["outputs"]]
    kinds = {kind for output in outputs for kind in output.get("data", {})}
    assert kinds & {"image/png", "image/svg+xml"}, "no picture"
    assert not [output for output in outputs if output["output_type"] == "error"]
    texts = [
        "".join(output.get("text", output.get("data", {}).get("text/plain", "")))
        for output in outputs
    ]
    assert not [text for text in texts if "\x1b" in text], "colours of a terminal"
    assert max(map(len, texts)) < 3_000, "a text that nobody reads"


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_it_is_small_and_tells_nothing_of_the_machine(path):
    text = path.read_text(encoding="utf-8")
    assert len(text) < LARGEST
    assert not re.search(r"/home/|/root/|/tmp/|\\Users\\|execution\"?: \{", text)
