"""What the documentation says is true: its programs run, its tables are the code's."""

import contextlib
import io
import json
import re
from pathlib import Path

import numpy as np
import plain_docstrings
import print_tables
import pytest

from agents import AGENTS, make_agent
from agents.policies import Policy, save_policy
from benchmarks import agents_table, leaderboard
from euchre_env.actions import NUM_ACTIONS
from euchre_env.observation import OBSERVATION_FIELDS, OBSERVATION_SIZE
from euchre_env.rules import OPTION_VALUES, Rules

ROOT = Path(__file__).parent.parent
PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
PROGRAM = re.compile(r"^```python\n(.*?)^```\n(?:\n```text\n(.*?)^```\n)?", re.M | re.S)
RULES = (ROOT / "docs/rules.md").read_text(encoding="utf-8")


def _programs():
    for page in PAGES:
        text = page.read_text(encoding="utf-8")
        for found in PROGRAM.finditer(text):
            line = text.count("\n", 0, found.start()) + 2
            where = f"{page.relative_to(ROOT)}:{line}"
            yield pytest.param(where, found[1], found[2], id=where)


def _save_run(folder):
    """A run folder such as train.py leaves, its network a layer of zeros."""
    layer = (
        np.zeros((NUM_ACTIONS, OBSERVATION_SIZE), dtype=np.float32),
        np.zeros(NUM_ACTIONS, dtype=np.float32),
    )
    save_policy(Policy((layer,), (), "relu", "relative", Rules(), {}), folder)


@pytest.mark.parametrize(("where", "program", "printed"), tuple(_programs()))
def test_a_program_runs_and_prints_what_the_page_says(
    where, program, printed, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    for folder in set(re.findall(r"\bruns/[\w-]+", program)):
        _save_run(tmp_path / folder)
    output = io.StringIO()
    with contextlib.redirect_stdout(output):
        exec(compile(program, where, "exec"), {"__name__": "__main__"})
    if printed is not None:
        assert output.getvalue() == printed


def test_no_program_is_overlooked():
    fences = sum(page.read_text(encoding="utf-8").count("```python") for page in PAGES)
    assert fences == len(list(_programs())) > 5


@pytest.mark.parametrize("page", print_tables.PAGES)
def test_tables_are_those_of_the_code(page):
    text = (ROOT / page).read_text(encoding="utf-8")
    assert "<!-- table:" in text
    assert text == print_tables.with_tables(text), "run: python docs/print_tables.py"


def test_every_table_stands_in_a_page():
    text = "".join((ROOT / page).read_text(encoding="utf-8") for page in print_tables.PAGES)
    assert set(re.findall(r"<!-- table: (\w+) -->", text)) == set(print_tables.TABLES)


@pytest.mark.parametrize("name", print_tables.PICTURES)
def test_drawings_are_those_of_the_code(name):
    drawn = print_tables.picture(*print_tables.PICTURES[name])
    assert (ROOT / name).read_text(encoding="utf-8") == drawn, "run: python docs/print_tables.py"


def test_every_page_has_its_place_on_the_site():
    site = (ROOT / "mkdocs.yml").read_text(encoding="utf-8")
    listed = re.findall(r": (\S+\.md)$", site, re.M)
    assert sorted(listed) == sorted(
        page.relative_to(ROOT / "docs").as_posix() for page in ROOT.glob("docs/**/*.md")
    )


def test_docstrings_become_markdown():
    text = "It adds::\n\n    1 + 1\n\n>>> 1 + 1\n2\n\n===  ===\n1    2\n===  ===\n\nplain"
    assert plain_docstrings.as_markdown(text) == (
        "It adds:\n\n    1 + 1\n\n```pycon\n>>> 1 + 1\n2\n```\n\n```text\n1    2\n```\n\nplain"
    )


def test_a_printed_table_has_every_place_of_the_observation():
    rows = [row.split("|") for row in print_tables.observation_table().splitlines()[2:-1]]
    places = np.concatenate([int(row[2]) + np.arange(int(row[3])) for row in rows])
    assert [row[1].strip(" `") for row in rows] == [field.name for field in OBSERVATION_FIELDS]
    np.testing.assert_array_equal(places, np.arange(OBSERVATION_SIZE))


def test_each_rule_stands_once_in_the_rule_book():
    assert re.findall(r"^\*\*(R\d+) ", RULES, re.M) == [f"R{number}" for number in range(1, 23)]


def test_each_option_stands_once_in_the_rule_book_with_its_values():
    text = RULES.replace("·\n", "· ")
    told = re.findall(r"`(\w+)`: ((?:`[^`]+`(?:, )?(?: \([^)]*\),? ?)?)+)", text.replace("\n", " "))
    options = {name: re.findall(r"`([^`]+)`", re.sub(r" \([^)]*\)", "", vs)) for name, vs in told}
    assert len(told) == len(options)
    assert options.pop("target_score") == ["10"]
    defaults = Rules()
    for name, values in options.items():
        values = [eval_literal(value) for value in values]
        assert set(values) == set(OPTION_VALUES[name]), name
        assert values[0] == getattr(defaults, name), name
    assert set(options) == set(OPTION_VALUES)


def eval_literal(text):
    """``"may"``, ``True`` as they stand in the rule book."""
    return {"True": True, "False": False}.get(text, text.strip('"'))


def test_every_rule_number_that_the_code_cites_exists():
    sources = [
        *ROOT.glob("euchre_env/*.py"),
        *ROOT.glob("agents/*.py"),
        *ROOT.glob("tests/**/*.py"),
    ]
    cited = {int(n) for path in sources for n in re.findall(r"\bR(\d+)\b", path.read_text("utf-8"))}
    assert cited
    assert cited <= set(range(1, 23))


def test_the_leaderboard_is_that_of_its_numbers():
    text = leaderboard.PAGE.read_text(encoding="utf-8")
    assert text == leaderboard.page(leaderboard.read()), "run: python benchmarks/leaderboard.py"
    ranked = {standing["agent"] for standing in leaderboard.read()["standings"]}
    assert ranked == {make_agent(name).name for name in leaderboard.shipped_agents()}


def test_links_between_pages_lead_somewhere():
    for page in PAGES:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text(encoding="utf-8")):
            assert (page.parent / target).exists(), f"{page.name}: {target}"


def test_the_first_page_has_exactly_the_two_commands():
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert re.findall(r"^pip install .*$", text, re.M) == [
        "pip install -c constraints.txt -e '.[train]' && python train.py",
        "pip install -c constraints.txt -e '.[dev]' && pytest",
    ]


def test_the_table_of_agents_has_every_agent_that_stands_alone() -> None:
    rungs = json.loads((ROOT / "results" / "agents.json").read_text(encoding="utf-8"))
    assert {rung["agent"] for rung in rungs} == set(AGENTS) - {"best_response", "run"}
    assert {rung["agent"]: rung["below"] for rung in rungs} == agents_table.OPPONENTS
