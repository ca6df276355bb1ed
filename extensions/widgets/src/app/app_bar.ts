// The bar of the app: what is worked on, how quiet the machine is, and a tab for each step.
//
// The panels of the steps are other widgets of the same page. They are found by their class and
// shown by the attribute data-step of the page, so that a step is changed without the kernel.

import type { RenderProps } from "@anywidget/types";
import { element, freshId } from "../element";
import "./app_bar.css";
import { widget } from "../widget";
import { onKernelGone } from "./kernel";
import { unbroken } from "../number_format";
import "./page.css";
import { isOutOfView, isScrolled, toTop } from "./page_scroll";
import { Presentation } from "./presentation";
import { hasRefusedField, showRefusedField } from "./settings_link";

interface Step {
  name: string;
  title: string;
  /** "needs", "ready", "busy", "done" or "failed". */
  state: string;
  /** The result of the step, or its missing requirement, in a few words. */
  note: string;
}

/** Shared state of the views of one bar: each shows its own step, the kernel changes that of all. */
interface Views {
  /** The view in which a user changes the step just now. */
  changing: object | null;
  /** The view that fills the window. */
  filling: object | null;
}

interface Traits {
  title: string;
  /** "quiet", "busy" or, while that is not known, empty. */
  machine: string;
  machine_share: string;
  /** The result of the last comparison, in a few words; empty without one. */
  verdict: string;
  /** The same in a sentence. */
  verdict_detail: string;
  steps: Step[];
  /** Name of the step that is shown. */
  selected: string;
  presenting: boolean;
  code_shown: boolean;
}

/** How often the panels, which JupyterLab renders one by one, are looked for, in milliseconds. */
const LOOK_EVERY = 100;
const LOOKS = 100;

/** Lines of a window, in CSS pixels, in which the style sheets save room. */
const LOW_WINDOW = 620;

const STATES: Record<string, string> = {
  needs: "needs something",
  ready: "ready",
  busy: "in progress",
  done: "done",
  failed: "ended",
};

const MARKS: Record<string, string> = { done: "✓", failed: "!" };

function render({ model, el, signal }: RenderProps<Traits>, views: Views): void {
  el.classList.add("wb", "wb-app-bar");
  const own = {};
  let selected = model.get("selected");
  const title = element("span", { class: "wb-app-title" });
  const badge = element("span", { class: "wb-badge" });
  const verdict = element("span", { class: "wb-badge wb-verdict-badge" });
  const code = toggle("Code", "Show equivalent Python code");
  const present = toggle("Present", "Fill the window, in larger type; Escape ends it");
  const badges = element("div", { class: "wb-badges" }, verdict, badge);
  const head = element("div", { class: "wb-app-head" }, title, badges, code, present);
  const rail = element("div", { role: "tablist", "aria-label": "Steps", class: "wb-rail" });
  const menu = element("select", { class: "wb-rail-menu", "aria-label": "Step" });
  el.append(rail, menu, head);

  const page = () => el.closest<HTMLElement>(".wb-page");
  const panel = (name: string) => page()?.querySelector<HTMLElement>(`.wb-step-${name}`) ?? null;
  const tabs = new Map<string, HTMLButtonElement>();

  /** Whether a user changes the step in this view, of which there may be several. */
  let here = false;
  const choose = (name: string, focus = false) => {
    if (focus) tabs.get(name)?.focus();
    if (name === selected) return;
    here = true;
    selected = name;
    views.changing = own;
    model.set("selected", name);
    views.changing = null;
    model.save_changes();
    update();
  };

  /** Whether the page is presented, in this view; the kernel keeps it for a reload. */
  let fills = model.get("presenting");
  let presentation: Presentation | undefined;

  let gone = false;
  const buildTabs = () => {
    const steps = model.get("steps");
    if (steps.length === tabs.size) return;
    tabs.clear();
    for (const step of steps) {
      const tab = element("button", { type: "button", role: "tab", id: freshId("tab") });
      tab.addEventListener("click", () => choose(step.name));
      tabs.set(step.name, tab);
    }
    rail.replaceChildren(...tabs.values());
    menu.replaceChildren(
      ...steps.map((step) => element("option", { value: step.name }, step.title)),
    );
  };

  const updateSteps = () => {
    buildTabs();
    model.get("steps").forEach((step, index) => {
      const tab = tabs.get(step.name);
      if (!tab) return;
      const chosen = step.name === selected;
      // When the kernel is gone, nothing can be done, and the state of what was in progress is unknown.
      const lost = gone && step.state !== "done";
      const state = lost ? "needs" : step.state;
      const text = lost ? "the kernel is gone" : unbroken(step.note);
      tab.setAttribute("aria-selected", String(chosen));
      tab.tabIndex = chosen ? 0 : -1;
      tab.dataset["state"] = state;
      tab.title = text;
      const mark = element("span", { class: "wb-step-mark", "aria-hidden": "true" });
      mark.textContent = MARKS[state] ?? String(index + 1);
      const note = element("span", { class: "wb-step-note" }, text);
      const name = element("span", { class: "wb-step-title" }, step.title);
      tab.replaceChildren(mark, name, note);
      tab.setAttribute("aria-label", `${step.title}, ${STATES[state] ?? state}: ${text}`);
      const option = menu.options[index];
      if (option) option.textContent = `${mark.textContent} ${step.title}`; // a note would be cut
    });
    menu.value = selected;
  };

  const isBusy = () => model.get("steps").some(({ name, state }) => name === selected && state === "busy");
  let busy = isBusy();
  let looks = 0;
  let timer: ReturnType<typeof setTimeout> | undefined;
  /** Shows the chosen panel, and ties each panel to its tab once it is there. */
  const showPanel = () => {
    const at = page();
    let missing = at === null;
    if (at) {
      const changes = at.dataset["step"] !== undefined && at.dataset["step"] !== selected;
      // Where the kernel changes the step, as when training begins, a page that nobody uses stays.
      const used = here || at.contains(document.activeElement);
      const scrolled = isScrolled(at);
      const left = changes && panel(at.dataset["step"] ?? "")?.contains(document.activeElement);
      if (at.dataset["step"] !== selected) at.dataset["step"] = selected; // what watches it folds and closes
      // What had the focus is hidden now, as after Compare in the step Runs.
      if (left) {
        const tab = tabs.get(selected);
        tab?.focus({ preventScroll: true });
        if (document.activeElement !== tab) menu.focus({ preventScroll: true }); // the tabs of a narrow page are hidden
      }
      // A run that begins in the step that is shown is looked at too, unless its start is refused for a field.
      const refused = document.activeElement?.getAttribute("aria-invalid") === "true";
      const begins = !changes && !busy && isBusy() && !refused && isOutOfView(panel(selected)?.querySelector(".wb-main"));
      busy = isBusy();
      if (used && (begins || (changes && (scrolled || isScrolled(at) || window.innerHeight <= LOW_WINDOW)))) {
        toTop(at);
      }
      if (changes) here = false;
      presentation ??= new Presentation(at, endPresentation);
      const isSeen = () => fills && at.getClientRects().length > 0; // laid out only where it is to fill
      if (at.isConnected) {
        // After a reload it is one view of several, and none of a notebook that is behind another: of one that
        // is not seen for a while, as none is while JupyterLab builds its window.
        fills &&= (views.filling ?? own) === own && (isSeen() || looks < LOOKS);
        if (isSeen()) views.filling = own;
        else if (views.filling === own) views.filling = null;
        missing ||= fills && !isSeen();
        presentation.show(isSeen());
      }
      at.classList.toggle("wb-presenting", isSeen());
      at.classList.toggle("wb-code-shown", model.get("code_shown"));
      for (const [name, tab] of tabs) {
        const found = panel(name);
        if (!found) {
          missing = true;
          continue;
        }
        found.id ||= freshId("panel");
        found.setAttribute("role", "tabpanel");
        found.setAttribute("aria-labelledby", tab.id);
        tab.setAttribute("aria-controls", found.id);
      }
    }
    clearTimeout(timer);
    if (missing && looks < LOOKS) {
      looks += 1;
      timer = setTimeout(showPanel, LOOK_EVERY);
    }
  };

  const update = () => {
    title.textContent = model.get("title") || "No model"; // none is chosen, or the chosen one cannot be loaded
    title.title = title.textContent;
    title.classList.toggle("wb-hint", !model.get("title"));
    const machine = model.get("machine");
    badge.hidden = gone || machine === "";
    badge.dataset["machine"] = machine;
    el.classList.toggle("wb-measuring", model.get("steps").some(({ state }) => state === "busy"));
    // A comparison says how the machine was while it measured: of now there are other words.
    const share = model.get("machine_share");
    badge.replaceChildren(
      element("span", { class: "wb-wide" }, share ? `other programs: ${share} now` : "machine quiet now"),
      element("span", { class: "wb-narrow" }, share ? `others: ${share}` : "quiet now"),
    );
    badge.title = share
      ? `Other programs, among them the notebook and the browser, use ${share} now. What is measured meanwhile is unreliable.`
      : "Other programs use almost none of the cores now.";
    verdict.textContent = `Compare: ${model.get("verdict")}`; // also beside the results of other steps
    verdict.title = model.get("verdict_detail");
    verdict.hidden = !model.get("verdict");
    code.setAttribute("aria-pressed", String(model.get("code_shown")));
    updateSteps();
    showPanel();
    present.setAttribute("aria-pressed", String(fills));
  };

  rail.addEventListener("keydown", (event) => {
    const names = [...tabs.keys()];
    const at = names.indexOf(selected);
    const moves: Record<string, number> = {
      ArrowRight: (at + 1) % names.length,
      ArrowLeft: (at - 1 + names.length) % names.length,
      Home: 0,
      End: names.length - 1,
    };
    const to = names[moves[event.key] ?? -1];
    if (to === undefined) return;
    event.preventDefault();
    event.stopPropagation();
    choose(to, true);
  });
  menu.addEventListener("change", () => choose(menu.value));
  const set = (name: "presenting" | "code_shown", value: boolean) => {
    model.set(name, value);
    model.save_changes();
  };
  code.addEventListener("click", () => {
    set("code_shown", !model.get("code_shown"));
    // The panel is above what a user may have scrolled to.
    if (model.get("code_shown")) page()?.querySelector(".wb-code-panel")?.scrollIntoView({ block: "nearest" });
  });
  const setPresenting = (value: boolean) => {
    fills = value;
    set("presenting", value);
    update();
  };
  const endPresentation = () => setPresenting(false);
  present.addEventListener("click", () => setPresenting(!fills));
  model.on("change:selected", () => {
    if (views.changing === null) selected = model.get("selected");
  });
  model.on("change", update);
  model.on("msg:custom", ({ kind, step = "" }: { kind: string; step?: string }) => {
    const at = page();
    if (kind === "refused" && at?.contains(document.activeElement)) {
      const place = [step, "train"].find((each) => hasRefusedField(panel(each)));
      if (place && place !== selected) {
        choose(place);
        showRefusedField(panel(place));
      }
    }
    const used = at?.contains(document.activeElement);
    if (kind === "results" && at && used && isOutOfView(panel(selected)?.querySelector(".wb-main"))) toTop(at);
  });
  onKernelGone(
    model,
    () => {
      gone = true;
      update();
    },
    signal,
  );
  signal.addEventListener("abort", () => {
    clearTimeout(timer);
    presentation?.show(false);
    if (views.filling === own) views.filling = null;
  });
  update();
}

function toggle(text: string, hint: string): HTMLButtonElement {
  return element("button", { type: "button", class: "wb-toggle", title: hint }, text);
}

export default () => {
  const views: Views = { changing: null, filling: null };
  return widget({ render: (props: RenderProps<Traits>) => render(props, views) });
};
