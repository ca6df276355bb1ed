"""A graph view in headless Chromium, without a notebook: this process answers its messages."""

from __future__ import annotations

import base64
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from playwright.sync_api import Page, sync_playwright

from workbench.controller.background.graph_reader import GraphReader
from workbench.graph_view.initially_open import initially_open_groups
from workbench.widgets.bundle import bundle
from workbench.widgets.graph.graph_messages import answers

CHROMIUM = ("chromium", "chromium-browser", "google-chrome")
FLAGS = ["--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"]

PAGE = """<!doctype html><html><head><style>
body {{ margin: 0; background: var(--jp-layout-color1, #fff); font-family: sans-serif; }}
{dark}
{css}
</style></head><body data-jp-theme-light="{light}"><div id="view"></div></body></html>"""

DARK = """body { --jp-layout-color1: #111; --jp-layout-color2: #424242; --jp-ui-font-color1: #fff;
--jp-ui-font-color2: rgba(255,255,255,.7); --jp-border-color1: #616161; --jp-border-color2: #424242;
--jp-brand-color1: #2196f3; }"""

SCRIPT = """
async ([source, traits]) => {
  const url = URL.createObjectURL(new Blob([source], { type: "text/javascript" }));
  const { default: view } = await import(url);
  const listeners = [];
  const tell = (event, ...given) => {
    for (const [listened, listener] of listeners) if (listened === event) listener(...given);
  };
  const decode = (text) => new DataView(Uint8Array.from(atob(text), (c) => c.charCodeAt(0)).buffer);
  window.model = {
    get: (name) => traits[name],
    set: (name, value) => { traits[name] = value; },
    save_changes: () => {},
    on: (event, listener) => listeners.push([event, listener]),
    off: () => {},
    receive: (name, value) => { traits[name] = value; tell(`change:${name}`); },
    send: async (content) => {
      for (const [reply, buffers] of await window.answer(content)) {
        tell("msg:custom", reply, buffers.map(decode));
      }
    },
  };
  const el = document.getElementById("view");
  el.style.padding = "0 8px";
  view.render({ model: window.model, el, signal: new AbortController().signal });
}
"""


@contextmanager
def graph_page(
    given: Any,
    *,
    graphs: list[str] | None = None,
    width: int = 1400,
    height: int = 1000,
    dark: bool = False,
    opened: bool = True,
) -> Iterator[Page]:
    """A page on which the view of `given` was begun; `GraphView` says what it may be.

    Args:
        given: what to show.
        graphs: which of its graphs.
        width: of the window in CSS pixels.
        height: of the window.
        dark: whether with a dark theme.
        opened: whether groups are open at first as in a notebook; otherwise all are closed.
    """
    failures: list[Exception] = []
    reader = GraphReader(print, failures.append)
    shown = [file.description for file in reader.start(given, graphs)]
    assert reader.given is not None
    traits = {
        **{"status": "ready", "message": "", "name": reader.given.name},
        "graphs": list(reader.given.keys),
        "shown": [each.key for each in shown],
        "opened": {each.key: initially_open_groups(each) if opened else [] for each in shown},
        **{"selected_graph": "", "selected_node": -1, "query": "", "paint_by": ""},
        "painted_note": "",
    }
    executable = next(path for name in CHROMIUM if (path := shutil.which(name)))

    def answer(content: dict[str, Any]) -> list[Any]:
        found = answers(content, reader, None, str(traits["name"]))
        return [[reply, [base64.b64encode(b).decode() for b in data]] for reply, data in found]

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=FLAGS)
        page = browser.new_page(viewport={"width": width, "height": height})
        page.on("pageerror", lambda error: print("page error:", error))
        css = bundle("graph_view.css")
        look = DARK if dark else ""
        page.set_content(PAGE.format(css=css, dark=look, light=str(not dark).lower()))
        page.expose_function("answer", answer)
        page.evaluate(SCRIPT, [bundle("graph_view.js"), traits])
        try:
            yield page
        finally:
            browser.close()
            reader.close()


def long_chain(path: Path, count: int, group: int = 0) -> Path:
    """Write an ONNX file of `count` nodes with some skips, in modules of `group` nodes each.

    Args:
        path: the file.
        count: of nodes.
        group: nodes of a module; 0: no modules are recorded.
    """
    import onnx
    from onnx import TensorProto, helper

    nodes = []
    for index in range(count):
        if index % 6 == 5:
            reads, op = [f"v{index}", f"v{index - 5}"], "Add"
        else:
            reads, op = [f"v{index}"], ("Relu", "Neg", "Abs")[index % 3]
        node = helper.make_node(op, reads, [f"v{index + 1}"], f"node_{index}")
        if group:
            node.metadata_props.add(key="layer", value=f"block{index // group}")
        nodes.append(node)
    ends = [
        helper.make_tensor_value_info(f"v{index}", TensorProto.FLOAT, ["batch", 16])
        for index in (0, count)
    ]
    graph = helper.make_graph(nodes, "chain", ends[:1], ends[1:])
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    onnx.save(model, path)
    return path
