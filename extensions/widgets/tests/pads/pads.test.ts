import { beforeEach, describe, expect, it } from "vitest";
import sketchPad from "../../src/pads/sketch_pad";
import textPad from "../../src/pads/text_pad";
import { show } from "../widget_model";

const common = () => ({
  level: "idle",
  message: "Draw.",
  detail: "",
  progress: -1,
  training: false,
  result_note: "",
  ready: false,
  export_path: "symbols.onnx",
  exported: "",
  problem: "",
  problem_at: "",
});

const traits = () => ({
  ...common(),
  classes: ["A", "B", "C"],
  items: [
    { id: 4, label: "A" },
    { id: 7, label: "A" },
    { id: 9, label: "C" },
  ],
  thumbnails: new DataView(new ArrayBuffer(3 * 4)),
  thumbnail_size: [2, 2],
  can_undo: false,
  results: [] as unknown[],
  result_classes: [] as string[],
  held_out: [] as unknown[],
  held_out_thumbnails: new DataView(new ArrayBuffer(4)),
  recognised: [] as { name: string; probability: number }[],
});

describe("the sketch pad", () => {
  let shown: ReturnType<typeof show<ReturnType<typeof traits>>>;
  const button = (name: string) =>
    [...shown.el.querySelectorAll("button")].find(
      (each) => (each.getAttribute("aria-label") ?? each.textContent) === name,
    ) as HTMLButtonElement;
  const usable = (name: string) => button(name).getAttribute("aria-disabled") !== "true";
  const commands = () => shown.model.sent;
  const area = () => shown.el.querySelector("canvas[role=application]") as HTMLCanvasElement;
  const press = (...keys: string[]) => {
    for (const key of keys) area().dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true }));
  };

  beforeEach(() => {
    shown = show(sketchPad, traits());
  });

  it("draws by the arrow keys and adds to the class of a number key", () => {
    press("2", " ", "ArrowRight", "ArrowDown", " ", "Enter");
    expect(commands()).toEqual([{ kind: "add_drawing", label: "B", lengths: [3] }]);
    const [points] = shown.model.sentBuffers.map((buffers) => new Float32Array(buffers[0] as ArrayBuffer));
    expect(points?.length).toBe(6);
    expect(points?.[2]).toBeCloseTo(0.5 + 1 / 28);
    // It is clear again.
    press("Enter");
    expect(commands().length).toBe(1);
  });

  it("keeps keys from the notebook, but not those that are none of its own", () => {
    const event = (key: string) => new KeyboardEvent("keydown", { key, bubbles: true, cancelable: true });
    const [own, other] = [event("Delete"), event("Tab")];
    area().dispatchEvent(own);
    area().dispatchEvent(other);
    expect([own.defaultPrevented, other.defaultPrevented]).toEqual([true, false]);
  });

  it("undoes strokes and clears", () => {
    expect(usable("Add to A")).toBe(false);
    press(" ", "ArrowLeft", " ", " ", "ArrowUp", " ");
    expect(usable("Add to A")).toBe(true);
    button("Undo stroke").focus();
    button("Undo stroke").click();
    button("Undo stroke").click();
    expect(usable("Clear")).toBe(false);
    // A button that was pressed last keeps the focus, though it cannot be pressed again.
    expect([usable("Undo stroke"), document.activeElement]).toEqual([false, button("Undo stroke")]);
  });

  it("shows examples by class and moves or removes the chosen one", () => {
    const names = [...shown.el.querySelectorAll(".wb-gallery button.wb-thumbnail")].map((each) => each.getAttribute("aria-label"));
    expect(names).toEqual(["drawing 1 of A", "drawing 2 of A", "drawing 1 of C"]);
    button("drawing 2 of A").click();
    expect(button("drawing 2 of A").getAttribute("aria-pressed")).toBe("true");
    const move = shown.el.querySelector("select") as HTMLSelectElement;
    move.value = "B";
    move.dispatchEvent(new Event("change"));
    button("Remove").click();
    expect(commands()).toEqual([
      { kind: "relabel", id: 7, label: "B" },
      { kind: "remove", id: 7 },
    ]);
    // A drawing has no sound.
    expect(button("Play")).toBeUndefined();
  });

  it("offers Undo only when there is something to undo", () => {
    expect(button("Undo").hidden).toBe(true);
    shown.model.receive("can_undo", true);
    button("Undo").click();
    expect(commands()).toEqual([{ kind: "undo" }]);
  });

  it("adds, renames and removes classes", () => {
    const [name, added] = [...shown.el.querySelectorAll<HTMLInputElement>(".wb-class-edit input")] as [HTMLInputElement, HTMLInputElement];
    const submit = (field: HTMLInputElement, value: string) => {
      field.value = value;
      field.closest("form")?.dispatchEvent(new Event("submit", { cancelable: true }));
    };
    submit(name, "star");
    submit(added, " moon ");
    submit(added, "  ");
    shown.model.receive("classes", ["star", "B", "C", "moon"]);
    expect((shown.el.querySelector("input:checked") as HTMLInputElement).value).toBe("moon");
    button("Remove class").click();
    expect(commands()).toEqual([
      { kind: "rename_class", label: "A", name: "star" },
      { kind: "add_class", label: "moon" },
      { kind: "remove_class", label: "moon" },
    ]);
    shown.model.receive("classes", ["star"]);
    expect(usable("Remove class")).toBe(false);
  });

  it("trains, and offers Stop alone meanwhile", () => {
    button("Fine-tune on examples").click();
    shown.model.receive("training", true);
    expect([usable("Fine-tune on examples"), usable("Stop")]).toEqual([false, true]);
    button("Fine-tune on examples").click();
    shown.model.receive("progress", 0.42);
    expect(shown.el.querySelector("[role=progressbar]")?.getAttribute("aria-valuenow")).toBe("42");
    button("Stop").click();
    expect(commands()).toEqual([{ kind: "train" }, { kind: "stop" }]);
  });

  it("shows both results with matrices whose right cells are marked by name, not by place", () => {
    shown.model.receive("result_classes", ["B", "A"]);
    shown.model.receive("results", [
      { title: "Before", right: 0, total: 3, columns: ["square"], confusion: [[2], [1]] },
      { title: "After", right: 2, total: 3, columns: ["A", "B"], confusion: [[1, 1], [1, 0]] },
    ]);
    const [before, after] = [...shown.el.querySelectorAll("figure")] as [HTMLElement, HTMLElement];
    expect(before.querySelector(".wb-accuracy")?.textContent).toBe("0\u00a0%");
    expect(after.querySelector("figcaption")?.textContent).toContain("2 of 3 recognised");
    const classes = [...after.querySelectorAll("tbody td")].map(({ className }) => className);
    expect(classes).toEqual(["wb-wrong", "wb-right", "wb-right", "wb-wrong"]);
    expect(before.querySelector(".wb-right")).toBeNull();
  });

  it("shows probabilities as text, and the largest as verdict", () => {
    shown.model.receive("ready", true);
    shown.model.receive("recognised", [
      { name: "A", probability: 0.03 },
      { name: "<b>", probability: 0.97 },
    ]);
    const trial = shown.el.querySelector(".wb-try") as HTMLElement;
    expect(trial.hidden).toBe(false);
    expect(trial.querySelector(".wb-verdict")?.textContent).toBe("<b>");
    expect([...trial.querySelectorAll(".wb-bar-value")].map((each) => each.textContent)).toEqual(["3.0\u00a0%", "97\u00a0%"]);
    expect(trial.querySelector("b")).toBeNull();
  });

  it("shows a problem where it arose and nowhere else", () => {
    shown.model.receive("problem_at", "export");
    shown.model.receive("problem", "The file cannot be written.");
    const alerts = [...shown.el.querySelectorAll<HTMLElement>("[role=alert]")].filter(({ hidden }) => !hidden);
    expect(alerts.map(({ textContent }) => textContent)).toEqual(["The file cannot be written."]);
    expect(alerts[0]?.closest("section")?.getAttribute("aria-label")).toBe("Export");
  });

  it("exports to the path in the field at Enter", () => {
    const field = shown.el.querySelector(".wb-export-area input") as HTMLInputElement;
    field.value = " mine.onnx ";
    field.dispatchEvent(new KeyboardEvent("keydown", { key: "Enter", cancelable: true }));
    expect(commands()).toEqual([{ kind: "export", path: "mine.onnx" }]);
  });
});

describe("the text pad", () => {
  const text = () => ({ ...common(), text: "Once", most_characters: 50, prompt: "On", continuations: [] as unknown[] });

  it("hands text and prompt over when they are left", () => {
    const { el, model } = show(textPad, text());
    const area = el.querySelector("textarea") as HTMLTextAreaElement;
    area.value = "Once upon a time";
    area.dispatchEvent(new Event("input"));
    expect(el.textContent).toContain("16 of at most 50 characters");
    area.dispatchEvent(new Event("change"));
    expect(model.saved).toEqual([{ text: "Once upon a time" }]);
  });

  it("saves and loads its text as a file, and shows why a file is refused", async () => {
    const { el, model } = show(textPad, text());
    const save = [...el.querySelectorAll("button")].find(({ textContent }) => textContent === "Save as file");
    // Typed a moment ago, and not sent yet.
    (el.querySelector("textarea") as HTMLTextAreaElement).value = "Once more";
    const typed = { text: "Once more", prompt: "On" };
    save?.click();
    expect(model.sent).toEqual([{ kind: "download", ...typed }]);
    const field = el.querySelector('input[type="file"]') as HTMLInputElement;
    Object.defineProperty(field, "files", { value: [new File(["npz"], "mine.npz")] });
    field.dispatchEvent(new Event("change"));
    await expect.poll(() => model.sent).toContainEqual({ kind: "upload", name: "mine.npz", ...typed });
    expect(new TextDecoder().decode(model.sentBuffers[1]?.[0])).toBe("npz");
    model.receive("problem_at", "examples");
    model.receive("problem", "mine.npz is torn.");
    expect(el.querySelector(".wb-text-area")?.textContent).toContain("mine.npz is torn.");
  });

  it("shows the prompt and how it continues, as text", () => {
    const { el, model } = show(textPad, text());
    expect((el.querySelector(".wb-results-area") as HTMLElement).hidden).toBe(true);
    model.receive("continuations", [
      { title: "Before", prompt: "On", text: " <i>a</i>", detail: "20 %" },
      { title: "After", prompt: "On", text: "ce", detail: "60 %" },
    ]);
    expect([...el.querySelectorAll("pre")].map(({ textContent }) => textContent)).toEqual(["On <i>a</i>", "Once"]);
  });

  it("continues another prompt once there is a model", () => {
    const { el, model } = show(textPad, text());
    const again = [...el.querySelectorAll("button")].find(({ textContent }) => textContent === "Continue") as HTMLButtonElement;
    expect(again.hidden).toBe(true);
    model.receive("ready", true);
    const field = el.querySelector('input[type="text"]') as HTMLInputElement;
    field.value = "Tw";
    again.click();
    expect(model.saved).toEqual([{ prompt: "Tw" }]);
    expect(model.sent).toEqual([{ kind: "continue", prompt: "Tw" }]);
  });

  it("trains on what is typed, though the kernel may not have it yet", () => {
    const { el, model } = show(textPad, text());
    (el.querySelector("textarea") as HTMLTextAreaElement).value = "Twice";
    (el.querySelector("input[maxlength='64']") as HTMLInputElement).value = "Tw";
    const train = [...el.querySelectorAll("button")].find(({ textContent }) => textContent === "Fine-tune on text") as HTMLButtonElement;
    train.click();
    expect(model.sent).toEqual([{ kind: "train", text: "Twice", prompt: "Tw" }]);
  });
});
