"""Every widget and its view name the same traits, of the same types."""

from __future__ import annotations

import re
from importlib import import_module
from pathlib import Path

import anywidget
import pytest
import traitlets

import workbench.widgets
from tests.widgets.trait_types import SOURCES, differences, python_types, typescript_types

FOLDER = Path(workbench.widgets.__file__).parent
THEME = (SOURCES / "theme.ts").read_text(encoding="utf-8")


def find_widgets() -> dict[str, type[anywidget.AnyWidget]]:
    """Widgets of the page by the name of their view."""
    found = {}
    for path in sorted(FOLDER.rglob("*.py")):
        for name in re.findall(r'_esm = bundle\("(\w+)\.js"\)', path.read_text(encoding="utf-8")):
            parts = path.relative_to(FOLDER).with_suffix("").parts
            module = import_module(".".join(("workbench.widgets", *parts)))
            [found[name]] = [
                each
                for each in vars(module).values()
                if isinstance(each, type)
                and each.__module__ == module.__name__
                and issubclass(each, anywidget.AnyWidget)
            ]
    return found


def find_views() -> dict[str, Path]:
    """Sources of views, by name."""
    return {
        path.stem: path
        for path in SOURCES.rglob("*.ts")
        if re.search(r"\binterface Traits\b", path.read_text(encoding="utf-8"))
    }


WIDGETS = find_widgets()
VIEWS = find_views()


def beside(view: Path) -> str:
    """Types that a view in a folder of its own shares with others there."""
    if view.parent == SOURCES:
        return ""
    files = sorted(set(view.parent.rglob("*.ts")) - set(VIEWS.values()))
    return "\n".join(path.read_text(encoding="utf-8") for path in files)


@pytest.mark.parametrize("name", WIDGETS)
def test_a_widget_and_its_view_have_the_same_traits(name: str) -> None:
    source = VIEWS[name].read_text(encoding="utf-8")
    shared = THEME + "\n" + beside(VIEWS[name])
    assert differences(python_types(WIDGETS[name]), typescript_types(source, shared)) == []


def test_every_view_has_its_widget() -> None:
    assert set(VIEWS) == set(WIDGETS)


class Sample(anywidget.AnyWidget):
    """A widget with a trait of each kind."""

    label = traitlets.Unicode().tag(sync=True)
    level = traitlets.Float().tag(sync=True)
    rows = traitlets.List(traitlets.Dict(per_key_traits={"name": traitlets.Unicode()})).tag(
        sync=True
    )
    value = traitlets.Dict().tag(sync=True)
    unsent = traitlets.Bool()


VIEW = """
interface Row {
  /** Its name; with a semicolon: and a colon. */
  name: string;
}

interface Traits {
  label: "one" | "other";
  level: number;
  rows: Row[];
  value: Record<string, number>;
}
"""


def test_equal_sides_differ_in_nothing() -> None:
    assert differences(python_types(Sample), typescript_types(VIEW)) == []


def test_members_of_interfaces_that_are_extended_count() -> None:
    whole = VIEW.replace("interface Traits", "interface Shared")
    extended = whole + "\ninterface Traits extends Shared, Record<string, unknown> {}\n"
    assert differences(python_types(Sample), typescript_types(extended)) == []
    more = extended.replace(" {}", " {\n  more: string;\n}")
    [found] = differences(python_types(Sample), typescript_types(more))
    assert found == "more: the widget lacks it."


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ("  level: number;\n", "", "level: the interface of the view lacks it."),
        ("  level: number;", "  level: number;\n  more: string;", "more: the widget lacks it."),
        ("level: number", "level: string", "level: number in the widget, string in the view."),
        ("rows: Row[]", "rows: string[]", "rows: [{'name': 'string'}] in the widget, "),
        ("  name: string;", "  name: boolean;", "rows: [{'name': 'string'}] in the widget, "),
        ("  name: string;", "  name: string;\n  unit: string;", "rows: [{'name': 'string'}] in "),
    ],
)
def test_a_trait_of_one_side_alone_or_of_another_type_is_found(
    old: str, new: str, sentence: str
) -> None:
    assert old in VIEW
    [found] = differences(python_types(Sample), typescript_types(VIEW.replace(old, new)))
    assert found.startswith(sentence)


def test_a_trait_that_the_widget_alone_has_is_found() -> None:
    class More(Sample):
        more = traitlets.Int().tag(sync=True)

    found = differences(python_types(More), typescript_types(VIEW))
    assert found == ["more: the interface of the view lacks it."]
