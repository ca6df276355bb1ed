import { describe, expect, it } from "vitest";
import layerTable from "../../src/model/layer_table";
import { show } from "../widget_model";

const layer = {
  ...{ name: "blocks.0.self_attn.out_proj", kind: "NonDynamicallyQuantizableLinear", output_shape: "" },
  ...{ parameters: 16512, bytes: 66048, multiply_adds: -1, state: "trains", why: "" },
};

describe("the table of layers", () => {
  it("breaks names and kinds between their words alone, so that no column is pushed out", () => {
    const { el } = show(layerTable, { layers: [layer], hint: "" });
    const [name, kind] = [...el.querySelectorAll("tbody :is(th, td)")];
    const words = (cell: Element | undefined) => cell?.innerHTML.split("<wbr>").filter(Boolean);
    expect([name?.textContent, kind?.textContent]).toEqual([layer.name, layer.kind]);
    expect(words(name)).toEqual(["blocks.", "0.", "self_attn.", "out_proj"]);
    expect(words(kind)).toEqual(["Non", "Dynamically", "Quantizable", "Linear"]);
  });

  it("says of a state that stays unknown that it is, once the model is checked", () => {
    const unknown = { ...layer, state: "" };
    const state = (checked: boolean) => show(layerTable, { layers: [unknown], hint: "", checked }).el.querySelector(".wb-layer-state")?.textContent;
    expect([state(false), state(true)]).toEqual(["…", "not known"]);
  });

  it("leads to the graphs where the page has them, and keeps the focus on that button", () => {
    expect(show(layerTable, { layers: [layer], hint: "", leads_to_graphs: false }).el.querySelector("button")).toBeNull();
    const { el, model } = show(layerTable, { layers: [layer], hint: "", leads_to_graphs: true });
    document.body.replaceChildren(el);
    const button = el.querySelector("button") as HTMLButtonElement;
    button.focus();
    button.click();
    expect(model.sent).toEqual([{ kind: "graphs" }]);
    model.receive("layers", [layer, layer]);
    expect(document.activeElement).toBe(el.querySelector("button"));
  });
});
