import { describe, expect, it, vi } from "vitest";
import { insertCellBelow, keepOutputs, type Notebook, type Output, saveIfChanged } from "../../src/app/notebook";
import { keepPlaceholder } from "../../src/app/placeholder";

const VIEW = "application/vnd.jupyter.widget-view+json";

describe("saving the notebook", () => {
  it("never begins while another save is in progress", async () => {
    let under = 0;
    let most = 0;
    let saves = 0;
    const model = { dirty: true, readOnly: false };
    const notebook: Notebook = {
      model,
      save: async () => {
        under += 1;
        saves += 1;
        most = Math.max(most, under);
        await new Promise((resolve) => setTimeout(resolve, 5));
        under -= 1;
      },
    };
    await Promise.all([saveIfChanged(notebook), saveIfChanged(notebook), saveIfChanged(notebook)]);
    expect([saves, most]).toEqual([3, 1]);
    model.dirty = false;
    await saveIfChanged(notebook);
    expect(saves).toBe(3);
  });

  it("leaves a file alone that something else has changed", async () => {
    const config = document.createElement("script");
    config.id = "jupyter-config-data";
    config.type = "application/json";
    config.textContent = '{"baseUrl": "/hub/"}';
    document.body.append(config);
    const asked: string[] = [];
    let written = "2026-01-01T00:00:09Z";
    vi.stubGlobal("fetch", async (url: string) => {
      asked.push(url);
      if (written === "gone") throw new TypeError("Failed to fetch");
      return { json: async () => ({ last_modified: written }) };
    });
    let saves = 0;
    const notebook: Notebook = {
      path: "my folder/a.ipynb",
      contentsModel: { last_modified: "2026-01-01T00:00:00Z" },
      model: { dirty: true, readOnly: false },
      save: async () => {
        saves += 1;
      },
    };
    await saveIfChanged(notebook);
    expect([saves, asked]).toEqual([0, ["/hub/api/contents/my%20folder/a.ipynb?content=0"]]);
    for (written of ["2026-01-01T00:00:00.4Z", "gone"]) await saveIfChanged(notebook);
    expect(saves).toBe(2);
    config.remove();
    vi.unstubAllGlobals();
  });

  it("continues after a save that failed", async () => {
    let saves = 0;
    const notebook: Notebook = {
      model: { dirty: true, readOnly: false },
      save: () => {
        saves += 1;
        return Promise.reject(new Error("no disk"));
      },
    };
    await saveIfChanged(notebook);
    await saveIfChanged(notebook);
    expect(saves).toBe(2);
  });
});

describe("a cell below the page", () => {
  it("stands after the cell that shows the page, and after those inserted before", () => {
    const output = { data: { [VIEW]: { model_id: "page" } } };
    const outputs = { length: 1, get: () => output, set: () => undefined };
    const cells: { id: string; outputs?: typeof outputs; cell?: object }[] = [
      { id: "above" },
      { id: "page", outputs },
      { id: "below" },
    ];
    const notebook: Notebook = {
      model: {
        cells: { get length() { return cells.length; }, get: (index) => cells[index] ?? {} },
        dirty: false,
        readOnly: false,
        sharedModel: { insertCell: (index, cell) => cells.splice(index, 0, { id: `new ${cells.length}`, cell }) },
      },
    };
    expect(insertCellBelow(notebook, "page", "1 + 1\n")).toBe(1);
    expect(cells[2]?.cell).toEqual({ cell_type: "code", source: "1 + 1", metadata: { trusted: true } });
    expect(insertCellBelow(notebook, "page", "2 + 2")).toBe(2);
    expect(cells.map((each) => each.id)).toEqual(["above", "page", "new 3", "new 4", "below"]);
    expect(insertCellBelow(notebook, "another", "1 + 1")).toBe(0);
  });
});

/** A notebook of one cell with these outputs, whose metadata can be read back. */
function notebookOf(outputs: Output[], metadata: Record<string, unknown> = {}): Notebook {
  const list = {
    length: outputs.length,
    get: (index: number) => outputs[index] ?? {},
    set: (index: number, output: object) => {
      outputs[index] = output as Output;
    },
  };
  return {
    model: {
      cells: { length: 1, get: () => ({ outputs: list }) },
      dirty: false,
      readOnly: false,
      getMetadata: (key) => metadata[key],
      setMetadata: (key, value) => {
        metadata[key] = value;
      },
    },
  };
}

describe("the static outputs below the page", () => {
  it("are filled in their order, those of this page alone", () => {
    const empty = () => ({ data: {}, metadata: { workbench_figure: "" } });
    const outputs: Output[] = [empty(), { data: { [VIEW]: { model_id: "page" } } }, empty(), empty()];
    const kept = ["picture", "table"].map((text) => ({ data: { text }, metadata: { workbench_figure: "run" } }));
    keepOutputs(notebookOf(outputs), "page", "run", kept);
    expect(outputs.map(({ data }) => data?.["text"])).toEqual([undefined, undefined, "picture", "table"]);
  });
});

describe("the placeholder of the page", () => {
  const STATE = "application/vnd.jupyter.widget-state+json";
  const states = (metadata: Record<string, unknown>) =>
    (metadata["widgets"] as Record<string, { state: Record<string, { model_name: string }> }>)[STATE]!.state;

  it("stands under the id of the page, beside what others saved, without those of pages that are gone", () => {
    const other = { model_module: "m", model_module_version: "1", model_name: "OtherModel", state: {} };
    const metadata: Record<string, unknown> = { widgets: { [STATE]: { version_major: 2, version_minor: 0, state: { other } } } };
    keepPlaceholder(notebookOf([{ data: { [VIEW]: { model_id: "first" } } }], metadata), "first");
    expect(Object.keys(states(metadata)).sort()).toEqual(["first", "other"]);
    expect(states(metadata)["first"]!.model_name).toBe("HTMLModel");
    keepPlaceholder(notebookOf([{ data: { [VIEW]: { model_id: "second" } } }], metadata), "second");
    expect(Object.keys(states(metadata)).sort()).toEqual(["other", "second"]);
  });

  it("is left alone once it is there: a notebook that is only looked at does not change", () => {
    const metadata: Record<string, unknown> = {};
    const notebook = notebookOf([{ data: { [VIEW]: { model_id: "page" } } }], metadata);
    keepPlaceholder(notebook, "page");
    const before = metadata["widgets"];
    keepPlaceholder(notebook, "page");
    expect(metadata["widgets"]).toBe(before);
  });
});
