"""The report: one page that loads nothing, tells every pairing, and shows names as they are."""

import dataclasses
import json
import re
import xml.etree.ElementTree as ET
from html.parser import HTMLParser

import numpy as np
import pytest

from agents import make_agent
from agents.evaluation import match, round_robin
from agents.evaluation.cli import main
from agents.evaluation.plots import CSS_COLOURS, difference, ratings, short, svg_text
from agents.evaluation.report import report_html, write_report
from euchre_env.actions import PASS

EVIL = '<script>alert("x")</script> & $\\alpha_{'
LOADING = {"src", "href", "xlink:href", "srcset", "data", "action"}
VOID = {"meta", "link", "br", "img", "hr", "input"}


class Named:
    """The novice under another name; passes whenever it may if it is a passer."""

    def __init__(self, name, *, passes=False):
        self.name, self.passes, self.novice = name, passes, make_agent("novice")

    def act(self, views, action_masks, rng):
        actions = self.novice.act(views, action_masks, rng)
        return np.where(action_masks[:, PASS] & self.passes, PASS, actions)


class Page(HTMLParser):
    """What a page loads, its text, and whether its elements close as they should."""

    def __init__(self, html):
        super().__init__()
        self.loads, self.text, self.tags, self.open = [], [], [], []
        self.feed(html)

    def handle_starttag(self, tag, attributes):
        self.tags.append(tag)
        self.loads += [value for name, value in attributes if name in LOADING]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.text.append(data)


def play(first, second):
    return match(first, second, pairs=60, games=3)


@pytest.fixture(scope="module")
def four():
    players = [Named(EVIL), make_agent("random"), make_agent("novice"), Named("p", passes=True)]
    return round_robin(players, play, command=f"evaluate.py '{EVIL}' ...")


@pytest.fixture(scope="module")
def html(four):
    return report_html(four)


def test_the_page_loads_nothing(html):
    page = Page(html)
    assert all(target.startswith("#") for target in page.loads)
    assert all(target.startswith("#") for target in re.findall(r"url\((.*?)\)", html))
    assert not {"script", "link", "img", "iframe", "object", "base"} & set(page.tags)
    assert "@import" not in html
    assert "http" not in html


def test_every_element_is_closed_and_every_picture_is_well_formed(html):
    assert Page(html).open == []
    pictures = re.findall(r"<svg.*?</svg>", html, re.S)
    assert len(pictures) == 2 + 6
    for picture in pictures:
        ET.fromstring(picture.replace("<svg", '<svg xmlns:xlink="x"', 1))


def test_names_are_escaped(html):
    page = Page(html)
    assert "<script" not in html
    assert "alert" in html
    text = "".join(page.text)
    assert text.count(EVIL) >= 6
    assert "$\\alpha_{" in text


def test_every_agent_and_every_pairing_is_told(four, html):
    text = " ".join("".join(Page(html).text).split())
    for pairing in four.pairings:
        assert f"{pairing.first} – {pairing.second}" in text
        assert f"{pairing.points.mean + 0.0:+.3f}".replace("-", "−") in text
        assert f"[{pairing.points.low + 0.0:+.3f}".replace("-", "−") in text
    for standing in four.standings:
        assert f"{standing.rating.mean:+.0f}".replace("-", "−") in text
        assert f"{100 * standing.support:.1f}%" in text
    assert four.protocol.deals_hash in text
    assert four.protocol.command in text
    assert "a tournament of four agents" in text
    assert "nan" not in text.replace(four.standings[0].agent, "")


def test_equal_tournaments_make_equal_pages(four, html):
    assert report_html(four) == html


def test_pictures_on_the_page_take_its_colours(four):
    for svg in (svg_text(ratings(four)), svg_text(difference(four.pairings[0]))):
        assert not any(colour in svg for colour in CSS_COLOURS)
        assert "var(--ink)" in svg
        assert "<metadata" not in svg


def test_a_broken_off_tournament_says_so(four, html):
    assert "broken off" not in html
    protocol = dataclasses.replace(four.protocol, partial=True)
    assert "broken off" in report_html(dataclasses.replace(four, protocol=protocol))


@pytest.mark.parametrize(
    ("names", "pairs"),
    [
        pytest.param(["novice", "random"], 40, id="two agents"),
        pytest.param(["novice", "novice"], 40, id="the same agent twice"),
        pytest.param(["novice", "random", "novice"], 1, id="a single pair: no interval"),
    ],
)
def test_unusual_tournaments_have_a_report_too(names, pairs):
    small = round_robin([make_agent(name) for name in names], lambda a, b: match(a, b, pairs=pairs))
    text = "".join(Page(report_html(small)).text)
    assert "nan" not in text.lower().replace("nan(", "")
    for pairing in small.pairings:
        assert f"{pairing.first} – {pairing.second}" in text


def test_the_files_of_a_report(four, tmp_path):
    page = write_report(four, tmp_path / "new")
    assert page == tmp_path / "new" / "report.html"
    names = {path.name for path in page.parent.iterdir()}
    pictures = {f"{name}.{suffix}" for name in ("ratings", "payoffs", "differences", "rates")
                for suffix in ("svg", "png")}  # fmt: skip
    assert names == pictures | {"report.html", "tournament.json", "pairings.csv", "agents.csv"}
    for name in pictures:
        start = (page.parent / name).read_bytes()[:8]
        assert start == (b"\x89PNG\r\n\x1a\n" if name.endswith("png") else b"<?xml ve")
    for path in page.parent.glob("*.svg"):
        ET.parse(path)
    plain = json.loads((page.parent / "tournament.json").read_text(encoding="utf-8"))
    assert plain["protocol"]["deals_hash"] == four.protocol.deals_hash


def test_long_names_are_cut():
    assert short("novice") == "novice"
    assert short("a folder with a name of many words, far too long", 18).count("\n") == 1
    assert len(short("x" * 200, 18).replace("\n", "")) <= 36


# --- the command line ---------------------------------------------------------------------------


def test_a_report_of_two_agents_on_the_command_line(tmp_path, capsys):
    folder = tmp_path / "out"
    arguments = ["novice", "random", "--pairs", "30", "--games", "0", "--no-controls"]
    assert main([*arguments, "--report", str(folder)]) == 0
    printed = capsys.readouterr().out
    assert "novice against random" in printed
    assert f"report: {folder / 'report.html'}" in printed
    text = "".join(Page((folder / "report.html").read_text(encoding="utf-8")).text)
    command = "python evaluate.py novice random --pairs 30 --games 0 --seed 0 --deals dev"
    assert command in text


@pytest.mark.parametrize("place", ["no/such", "file.txt"])
def test_a_report_that_cannot_be_written_is_told_beforehand(place, tmp_path, capsys):
    (tmp_path / "file.txt").write_text("x", encoding="utf-8")
    arguments = ["novice", "random", "--pairs", str(10**9), "--report", str(tmp_path / place)]
    assert main(arguments) == 2
    assert capsys.readouterr().err.startswith("evaluate.py: --report ")
