import { describe, expect, it, vi } from "vitest";
import { panelContents } from "../../../src/train/federation/federation_panels";
import { RoundPanel } from "../../../src/train/federation/round_panel";
import { decodeRounds, matrixRows } from "../../../src/train/federation/rounds";
import view from "../../../src/train/federation/federation_view";
import { plots, present } from "../../charts/plots";
import { show } from "../../widget_model";

vi.mock("uplot", () => import("../../charts/plots"));

const floats = (numbers: number[]) => new DataView(new Float32Array(numbers).buffer);
// Two rounds: round, value, loss, trained, left out, sent, received, seconds, simulated seconds, epsilon.
const before = [1, 2, NaN, 0.5, NaN, 0.75, 1, 2, 1, 0, 3e6, 6e6, 1e6, 2e6, 1.5, 2.5];
const rounds = floats([...before, 7.5, 12.5, 4.5, 9]);
const onRealDevices = floats([...before, NaN, NaN, 4.5, 9]);
const traits = {
  heading: "2 clients, 3 rounds of fedavg",
  note: "batch 10",
  measure: "accuracy",
  total_rounds: 3,
  delta: 0,
  rounds,
  lines: ["client 0", "client 1"],
  line_values: floats([0.25, 0.5, NaN, 0.75]),
  clients: [
    { rows: 20, test_rows: 4, classes: [15, 5] },
    { rows: 1000, test_rows: 2, classes: [0, 1000] },
  ],
  client_count: 2,
  states: floats([0.5, 0.75, 2, 1, 0, 1]),
  classes: ["cat", "dog"],
  left_out: [{ round: 1, client: 1, reason: "it was not there" }],
  left_out_count: 1,
};
const federated = {
  rounds: decodeRounds(rounds),
  names: traits.lines,
  lines: matrixRows(traits.line_values, 2),
  measure: "accuracy" as const,
  totalRounds: 3,
  delta: 0,
};
const texts = (el: Element, selector: string) =>
  [...el.querySelectorAll(selector)].map((each) => each.textContent);
const named = (el: Element, title: string) =>
  [...el.querySelectorAll(".wb-panel")].find((each) => each.querySelector("h3")?.textContent === title);

describe("the rounds", () => {
  it("are rows of a matrix, which may begin within a larger buffer", () => {
    const buffer = new Float32Array([9, 1, 2, 3, 4]).buffer;
    expect(matrixRows(new DataView(buffer, 4), 2).map((row) => [...row])).toEqual([[1, 2], [3, 4]]);
    expect(matrixRows(new DataView(new ArrayBuffer(0)), 0)).toEqual([]);
  });
});

describe("the charts", () => {
  it("keep their axis from the first round to the last that is planned", () => {
    expect(panelContents(federated).map(({ range }) => range)).toEqual(Array(4).fill([0.5, 3.5]));
  });

  it("draw accuracy against epsilon where there is privacy", () => {
    const last = panelContents({ ...federated, delta: 1e-5 }).at(-1);
    expect(last?.title).toBe("Accuracy by epsilon");
    expect([...(last?.x ?? [])]).toEqual([4.5, 9]);
    expect(last?.axis.label).toBe("epsilon so far, at delta 1e-5");
    expect(last?.axis.text(0.30000000000000004, 0.1)).toBe("0.3");
  });

  it("say the loss where there is no accuracy", () => {
    const [reached] = panelContents({ ...federated, measure: "loss" });
    expect([reached?.title, reached?.groups[0]?.textAt(1)]).toEqual(["Loss", "0.5000"]);
  });

  it("are drawn anew in a presentation, larger by its zoom, which is undone for them", () => {
    plots.length = 0;
    const panel = new RoundPanel({ onRound: () => undefined });
    Object.defineProperty(panel.surface, "clientWidth", { value: 400 });
    document.body.replaceChildren(panel.root);
    const [content] = panelContents(federated);
    for (const zoom of [1, 1, 1.3, 1]) {
      present(zoom);
      panel.draw(content as NonNullable<typeof content>, null);
    }
    expect(plots.map(({ width }) => width)).toEqual([400, 520, 400]);
  });

  it("move to a round by the arrows, from the last one on, and leave other keys alone", () => {
    const asked: (number | null)[] = [];
    const panel = new RoundPanel({
      onRound: (index) => {
        asked.push(index);
        panel.point(index);
      },
    });
    const [content] = panelContents(federated);
    panel.draw(content as NonNullable<typeof content>, null);
    const press = (key: string) => {
      const event = new KeyboardEvent("keydown", { key, cancelable: true });
      panel.surface.dispatchEvent(event);
      return event.defaultPrevented;
    };
    expect(["ArrowLeft", "ArrowLeft", "ArrowLeft", "End", "Escape", "a"].map(press)).toEqual([
      ...Array(5).fill(true),
      false,
    ]);
    expect(asked).toEqual([1, 0, 0, 1, null]);
    panel.point(0);
    expect(panel.sentence).toBe(
      "Accuracy, round 1: global weights, whole test split –, each client's own test rows 25.0\u00a0% to 25.0\u00a0%",
    );
  });
});

describe("a federated run", () => {
  it("is nothing in the page while none is shown", () => {
    const { el } = show(view, { ...traits, heading: "" });
    expect(el.childElementCount).toBe(0);
  });

  it("has its values in the legends", () => {
    const { el } = show(view, traits);
    expect(texts(el, ".wb-panel h3")).toEqual(["Accuracy", "Traffic", "Time of a round", "Clients of a round"]);
    expect(texts(named(el, "Accuracy") as Element, ".wb-legend-value")).toEqual([
      "50.0\u00a0%",
      "50.0\u00a0% to 75.0\u00a0%",
    ]);
    expect(texts(named(el, "Traffic") as Element, ".wb-legend-value")).toEqual(["6.00\u00a0MB", "2.00\u00a0MB"]);
    const time = named(el, "Time of a round") as Element;
    expect(texts(time, ".wb-legend-name")).toEqual(["on this machine", "on devices (simulated)"]);
    expect(time.querySelector(".wb-plot")?.getAttribute("aria-label")).toBe(
      "Time of a round, round 2: on this machine 2.50\u00a0s, on devices (simulated) 12.5\u00a0s",
    );
  });

  it("has one time where no device is simulated", () => {
    const { el } = show(view, { ...traits, rounds: onRealDevices });
    expect(named(el, "Time of a round")?.querySelector(".wb-plot")?.getAttribute("aria-label")).toBe(
      "Time of a round, round 2: 2.50\u00a0s",
    );
    const details = el.querySelector("details") as HTMLDetailsElement;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect(texts(details, "thead th").slice(-2)).toEqual(["Received (MB)", "Time (s)"]);
  });

  it("says before the first round that the lines begin with it", () => {
    const nothing = floats([]);
    const { el } = show(view, { ...traits, rounds: nothing, line_values: nothing });
    expect(new Set(texts(el, ".wb-plot-hint"))).toEqual(new Set(["The lines begin with the first round."]));
  });

  it("maps which client has which classes, and how it does", () => {
    const { el } = show(view, traits);
    expect(texts(el, ".wb-clients thead th")).toEqual([
      ...["Client", "Rows", "Test rows", "cat", "dog", "Accuracy (%)", "Rounds trained", "Left out"],
    ]);
    expect(texts(el, ".wb-clients tbody tr:last-child :is(th, td)")).toEqual([
      ...["1", "1,000", "2", "·", "1,000", "75.0", "1", "1"],
    ]);
    const shaded = [...el.querySelectorAll<HTMLElement>(".wb-class-rows")];
    expect(shaded.map((each) => each.style.getPropertyValue("--wb-share"))).toEqual(["0.015", "0.005", "", "1"]);
  });

  it("counts the classes where there are too many for a map, and names none where there are none", () => {
    const many = Array.from({ length: 31 }, (_, at) => at % 2);
    const clients = traits.clients.map((each) => ({ ...each, classes: many }));
    expect(texts(show(view, { ...traits, clients }).el, ".wb-clients tbody tr:first-child td")[2]).toBe("15 of 31");
    const plain = traits.clients.map((each) => ({ ...each, classes: [] }));
    expect(texts(show(view, { ...traits, clients: plain }).el, ".wb-clients thead th")[3]).toBe("Accuracy (%)");
  });

  it("says how many clients and reasons there are besides those shown", () => {
    const { el } = show(view, { ...traits, client_count: 300, left_out_count: 1234 });
    expect(el.querySelector(".wb-clients")?.closest("section")?.querySelector(".wb-note")?.textContent).toContain("The first 2 of 300 clients.");
    expect(el.querySelector(".wb-left-out")?.closest("section")?.querySelector(".wb-note")?.textContent).toBe("The last 1 of 1,234.");
    expect(texts(el, ".wb-left-out tbody td")).toEqual(["Client 1", "it was not there"]);
  });

  it("says nothing of clients that were left out when none was", () => {
    const { el } = show(view, { ...traits, left_out: [], left_out_count: 0 });
    expect((el.querySelector(".wb-left-out")?.closest("section") as HTMLElement).hidden).toBe(true);
  });

  it("has the rounds as a table", () => {
    const { el } = show(view, { ...traits, delta: 1e-5 });
    const details = el.querySelector("details") as HTMLDetailsElement;
    details.open = true;
    details.dispatchEvent(new Event("toggle"));
    expect(texts(details, "tbody tr:last-child :is(th, td)")).toEqual([
      ...["2", "50.0", "0.7500", "50.0 to 75.0", "2", "0"],
      ...["6.00", "2.00", "2.50", "12.5", "9.00"],
    ]);
  });
});
