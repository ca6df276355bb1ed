import { describe, expect, it } from "vitest";
import { insertCellBelow, type Notebook, saveIfChanged } from "../src/app/notebook";

const VIEW = "application/vnd.jupyter.widget-view+json";

describe("saving the notebook", () => {
  it("never begins while another save is under way", async () => {
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

  it("goes on after a save that failed", async () => {
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
  it("stands after the cell that shows the page", () => {
    const inserted: [number, object][] = [];
    const output = { data: { [VIEW]: { model_id: "page" } } };
    const outputs = { length: 1, get: () => output, set: () => undefined };
    const cells = [{}, { outputs }, {}];
    const notebook: Notebook = {
      model: {
        cells: { length: 3, get: (index) => cells[index] ?? {} },
        dirty: false,
        readOnly: false,
        sharedModel: { insertCell: (index, cell) => inserted.push([index, cell]) },
      },
    };
    expect(insertCellBelow(notebook, "page", "1 + 1")).toBe(true);
    expect(inserted).toEqual([[2, { cell_type: "code", source: "1 + 1" }]]);
    expect(insertCellBelow(notebook, "another", "1 + 1")).toBe(false);
  });
});
