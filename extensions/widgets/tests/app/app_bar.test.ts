import { beforeEach, describe, expect, it, vi } from "vitest";
import appBar from "../../src/app/app_bar";
import { show, signalOfTest, WidgetModel } from "../widget_model";

const step = (name: string, state: string, note: string) => ({ name, title: name, state, note });
const traits = () => ({
  title: "digits-mlp · digits",
  machine: "quiet",
  machine_share: "",
  verdict: "",
  verdict_detail: "",
  steps: [step("model", "done", "digits-mlp"), step("train", "needs", "needs an engine")],
  selected: "model",
  presenting: false,
  code_shown: false,
});

describe("the bar", () => {
  let shown: ReturnType<typeof show<ReturnType<typeof traits>>>;
  const tabs = () => [...shown.el.querySelectorAll<HTMLButtonElement>('[role="tab"]')];
  const page = () => shown.el.closest(".wb-page") as HTMLElement;

  beforeEach(() => {
    const { render } = appBar();
    shown = show(
      {
        render: (props: Parameters<typeof render>[0]) => {
          const around = document.createElement("div");
          const panel = document.createElement("div");
          around.className = "wb-page";
          panel.className = "wb-step-train";
          around.append(props.el, panel);
          document.body.replaceChildren(around);
          render(props);
        },
      },
      traits(),
    );
  });

  /** The step Train, whose results are above what is seen; `moved` has the page once it was scrolled. */
  const resultsAbove = () => {
    const main = document.createElement("div");
    const field = document.createElement("input");
    main.className = "wb-main";
    main.getBoundingClientRect = () => ({ top: -400 }) as DOMRect;
    page().querySelector(".wb-step-train")?.append(main, field);
    tabs()[1]?.click();
    const moved: Element[] = [];
    page().scrollIntoView = () => void moved.push(page());
    return { main, field, moved };
  };

  it("leaves the step of the page as it is while something else changes: a message would be folded", () => {
    const observer = new MutationObserver(() => undefined);
    expect(page().dataset["step"]).toBe("model");
    observer.observe(page(), { attributeFilter: ["data-step"] });
    shown.model.receive("machine", "busy");
    shown.model.receive("steps", traits().steps.slice(0, 1));
    expect(observer.takeRecords()).toEqual([]);
    tabs()[0]?.click();
    shown.model.receive("selected", "train");
    expect(observer.takeRecords()).toHaveLength(1);
  });

  it("says of each step what is there or what it needs", () => {
    expect(tabs().map((tab) => tab.getAttribute("aria-label"))).toEqual([
      "model, done: digits-mlp",
      "train, needs something: needs an engine",
    ]);
    expect(tabs().map((tab) => tab.tabIndex)).toEqual([0, -1]);
  });

  it("does not say that no model is chosen, as the chosen one may be one that cannot be loaded", () => {
    shown.model.set("title", "");
    expect(shown.el.querySelector(".wb-app-title")?.textContent).toBe("No model");
  });

  it("changes the step without the kernel, and tells it", () => {
    tabs()[1]?.click();
    expect(page().dataset["step"]).toBe("train");
    expect(shown.model.saved).toEqual([{ selected: "train" }]);
    expect(tabs()[1]?.getAttribute("aria-selected")).toBe("true");
  });

  it("is worked by the arrow keys, round the end", () => {
    const press = (key: string) =>
      shown.el.querySelector('[role="tablist"]')?.dispatchEvent(new KeyboardEvent("keydown", { key, bubbles: true }));
    press("ArrowLeft");
    expect(shown.model.get("selected")).toBe("train");
    expect(document.activeElement).toBe(tabs()[1]);
    press("ArrowRight");
    expect(shown.model.get("selected")).toBe("model");
  });

  it("ties a panel to its tab", () => {
    const panel = page().querySelector(".wb-step-train");
    expect(panel?.getAttribute("role")).toBe("tabpanel");
    expect(panel?.getAttribute("aria-labelledby")).toBe(tabs()[1]?.id);
    expect(tabs()[1]?.getAttribute("aria-controls")).toBe(panel?.id);
  });

  it("brings the head of a page that is scrolled into view, in the view that is used alone", () => {
    const moved: Element[] = [];
    page().scrollIntoView = () => void moved.push(page());
    page().getBoundingClientRect = () => ({ top: -400 }) as DOMRect;
    shown.model.receive("selected", "train");
    expect(moved).toEqual([]);
    tabs()[0]?.click();
    expect(moved).toEqual([page()]);
  });

  it("brings results that the kernel has shown into view, where a user works in the page", () => {
    const { main, field, moved } = resultsAbove();
    (document.activeElement as HTMLElement | null)?.blur();
    shown.model.hear({ kind: "results" });
    expect(moved).toEqual([]);
    field.focus();
    shown.model.hear({ kind: "results" });
    expect(moved).toEqual([page()]);
    main.getBoundingClientRect = () => ({ top: 200 }) as DOMRect;
    shown.model.hear({ kind: "results" });
    expect(moved).toHaveLength(1);
  });

  it("brings a run that begins into view, unless it is refused for a field, which has the focus", () => {
    const { field, moved } = resultsAbove();
    field.focus();
    const become = (state: string) => shown.model.receive("steps", [step("model", "done", "digits-mlp"), step("train", state, "")]);
    field.setAttribute("aria-invalid", "true");
    become("busy");
    become("ready");
    expect(moved).toEqual([]);
    field.setAttribute("aria-invalid", "false");
    become("busy");
    expect(moved).toEqual([page()]);
  });

  it("leads to a field that is refused, of another step", () => {
    const form = document.createElement("div");
    form.className = "wb-settings-form";
    form.innerHTML = '<input aria-invalid="true">';
    page().querySelector(".wb-step-train")?.append(form);
    (document.activeElement as HTMLElement | null)?.blur();
    shown.model.hear({ kind: "refused", step: "train" });
    expect(page().dataset["step"]).not.toBe("train");
    tabs()[0]?.focus();
    shown.model.hear({ kind: "refused", step: "compare" });
    expect(page().dataset["step"]).toBe("train");
    expect(document.activeElement).toBe(form.firstElementChild);
  });

  it("takes the focus where the panel that has it is hidden, as after Compare in the step Runs", () => {
    const inside = document.createElement("button");
    page().querySelector(".wb-step-train")?.append(inside);
    tabs()[1]?.click();
    inside.focus();
    shown.model.receive("selected", "model");
    expect(document.activeElement).toBe(tabs()[0]);
  });

  it("says of every step that is not done that its kernel is gone", () => {
    const ready = step("compare", "ready", "ready");
    shown.model.receive("steps", [step("model", "done", "digits-mlp"), step("train", "busy", "in progress"), ready]);
    shown.model.lose();
    expect(tabs().map((tab) => tab.getAttribute("aria-label"))).toEqual([
      "model, done: digits-mlp",
      "train, needs something: the kernel is gone",
      "compare, needs something: the kernel is gone",
    ]);
  });

  it("has a step of its own in each view; the kernel changes that of all", () => {
    const { render } = appBar();
    const model = new WidgetModel(traits());
    const steps = [0, 1].map(() => {
      const around = document.createElement("div");
      const el = document.createElement("div");
      around.className = "wb-page";
      around.append(el);
      document.body.append(around);
      const signal = signalOfTest();
      render({ model, el, signal } as unknown as Parameters<typeof render>[0]);
      return { now: () => around.dataset["step"], tab: (at: number) => el.querySelectorAll<HTMLElement>("[role=tab]")[at] };
    });
    steps[0]?.tab(1)?.click();
    expect(steps.map((view) => view.now())).toEqual(["train", "model"]);
    steps[1]?.tab(1)?.click();
    steps[1]?.tab(0)?.click();
    expect(steps.map((view) => view.now())).toEqual(["train", "model"]);
    model.receive("selected", "train");
    expect(steps.map((view) => view.now())).toEqual(["train", "train"]);
  });

  it("fills the window once the page is seen, which JupyterLab takes a while for", () => {
    vi.useFakeTimers();
    const { render } = appBar();
    const around = document.createElement("div");
    const el = document.createElement("div");
    around.className = "wb-page";
    around.append(el);
    document.body.append(around);
    let seen = false;
    around.getClientRects = () => (seen ? [{}] : []) as unknown as DOMRectList;
    Object.assign(around, { showPopover: () => {} });
    const model = new WidgetModel({ ...traits(), presenting: true });
    render({ model, el, signal: signalOfTest() } as unknown as Parameters<typeof render>[0]);
    vi.advanceTimersByTime(3000);
    expect(around.hasAttribute("popover")).toBe(false);
    seen = true;
    vi.advanceTimersByTime(1000);
    expect(around.hasAttribute("popover")).toBe(true);
    vi.useRealTimers();
  });

  it("fills the window with one view after a reload, and not with one that is hidden", () => {
    const { render } = appBar();
    const model = new WidgetModel({ ...traits(), presenting: true });
    const pages = [false, true, true].map((visible) => {
      const around = document.createElement("div");
      const el = document.createElement("div");
      around.className = "wb-page";
      around.append(el);
      document.body.append(around);
      around.getClientRects = () => (visible ? [{}] : []) as unknown as DOMRectList;
      Object.assign(around, { showPopover: () => {} });
      render({ model, el, signal: signalOfTest() } as unknown as Parameters<typeof render>[0]);
      return around;
    });
    const filling = () => pages.map((each) => each.hasAttribute("popover"));
    expect(filling()).toEqual([false, true, false]);
    const pressed = () => pages.map((each) => each.classList.contains("wb-presenting"));
    expect(pressed()).toEqual([false, true, false]);
    const press = (at: number) => [...pages[at]!.querySelectorAll("button")].at(-1)!.click();
    press(1);
    expect(filling()).toEqual([false, false, false]);
    press(2);
    expect(filling()).toEqual([false, false, true]);
    expect(pressed()).toEqual([false, false, true]);
  });
});
