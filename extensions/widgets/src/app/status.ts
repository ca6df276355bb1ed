// The message region: what is going on, what went wrong, and how far the work is.

import type { RenderProps } from "@anywidget/types";
import { element, setAttribute, setText } from "../element";
import { cancelDraw, drawSoon } from "../frame";
import { unbroken } from "../number_format";
import { widget } from "../widget";
import { GONE, markKernelGone, OFFLINE, onConnection, onKernelGone } from "./kernel";
import "./page.css";
import { guardKeys } from "./page_keys";
import "./status.css";

interface Traits {
  /** "idle", "busy", "paused", "done" or "error". */
  level: string;
  /** One or a few sentences. */
  message: string;
  /** Text that changes many times a second, such as the step; not announced by screen readers. */
  detail: string;
  /** Between 0 and 1, or below 0 when there is nothing to be done. */
  progress: number;
  /** How long the work still takes, in words; empty while that is not known. */
  left: string;
}

/** Letters of a detail that has room beside the message: 1 min 20 s. */
const SHORT = 11;

function render({ model, el, signal }: RenderProps<Traits>): void {
  el.classList.add("wb", "wb-status");
  guardKeys();
  const message = element("div", { role: "status", class: "wb-status-message" });
  const detail = element("span", { class: "wb-status-detail" });
  const left = element("span", { class: "wb-status-left" });
  const bar = element("div", {
    role: "progressbar",
    "aria-label": "Progress",
    "aria-valuemin": "0",
    "aria-valuemax": "100",
  });
  const fill = element("div", { class: "wb-progress-fill" });
  bar.append(fill);
  const aside = element("span", { class: "wb-status-aside" }, detail, left);
  const more = element("button", {
    type: "button",
    class: "wb-toggle wb-status-more",
    title: "Show the whole message, or two lines of it",
    hidden: "",
  });
  const text = element("div", { class: "wb-status-text" }, message, more);
  el.append(element("div", { class: "wb-status-line" }, text, aside), bar);

  /** Shows two lines of the message, and a button for the rest; or all of it. */
  const fold = (whole: boolean) => {
    if (whole) watchStep(); // by then it stands in its page
    el.classList.remove("wb-cut");
    el.classList.toggle("wb-whole", whole);
    const cut = !whole && message.scrollHeight > message.clientHeight + 1;
    el.classList.toggle("wb-cut", cut);
    more.hidden = !cut && !whole;
    more.textContent = whole ? "Less" : "More";
    more.setAttribute("aria-expanded", String(whole));
  };
  const say = (sentences: string) => {
    if (message.textContent === sentences) return;
    // A region is read aloud when its text changes, so it is only touched when it does.
    setText(message, sentences);
    message.scrollTop = 0;
    fold(false);
  };
  more.addEventListener("click", () => fold(!el.classList.contains("wb-whole")));
  // A whole message takes the place of what another step is opened for.
  const stepped = new MutationObserver(() => fold(false));
  const watchStep = () => {
    const page = el.closest(".wb-page");
    if (page) stepped.observe(page, { attributeFilter: ["data-step"] });
  };
  const resized = new ResizeObserver(() => {
    if (!el.classList.contains("wb-whole")) fold(false);
    // What has the focus is kept clear of what stays in view above it: page.css.
    const top = el.closest<HTMLElement>(".wb-top");
    if (top) el.closest<HTMLElement>(".wb-page")?.style.setProperty("--wb-top-height", `${top.offsetHeight}px`);
  });
  resized.observe(text); // it is narrower beside a longer detail, too
  signal.addEventListener("abort", () => {
    resized.disconnect();
    stepped.disconnect();
  });

  const update = () => {
    setAttribute(el, "data-level", model.get("level"));
    setText(detail, unbroken(model.get("detail")));
    el.classList.toggle("wb-short", model.get("detail").length <= SHORT);
    setText(left, unbroken(model.get("left")));
    say(unbroken(model.get("message"))); // last, as what stands beside it takes room
    const progress = model.get("progress");
    bar.classList.toggle("wb-nothing", progress < 0);
    const percent = Math.round(100 * Math.min(Math.max(progress, 0), 1));
    setAttribute(bar, "aria-valuenow", String(percent));
    setAttribute(fill, "style", `width: ${percent}%`);
  };
  let [gone, offline] = [false, false];
  const updateUnlessLost = () => gone || offline || update();
  // A sentence is shown at once; the numbers beside it with the charts.
  for (const name of ["level", "message"] as const) model.on(`change:${name}`, updateUnlessLost);
  model.on("change", () => drawSoon(updateUnlessLost));
  signal.addEventListener("abort", () => cancelDraw(updateUnlessLost));
  update();
  const fail = (sentences: string) => {
    el.dataset["level"] = "error";
    detail.textContent = left.textContent = "";
    say(sentences);
    bar.classList.add("wb-nothing");
  };
  const lose = () => {
    gone = true;
    markKernelGone(el);
    fail(GONE);
  };
  const connection = (lost: boolean) => {
    offline = lost;
    if (gone) return;
    if (lost) fail(OFFLINE);
    else update();
  };
  onConnection(model, connection, signal);
  onKernelGone(model, lose, signal);
}

export default widget({ render });
