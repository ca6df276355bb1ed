import { describe, expect, it, vi } from "vitest";
import controls from "../../src/app/controls";
import status from "../../src/app/status";
import { KernelLine } from "../../src/graph/side_panel/kernel_line";
import { PaneRow } from "../../src/graph/panes/pane_row";
import { show } from "../widget_model";

/** As much of JupyterLab's session as tells of the kernel. */
class Session {
  session: { kernel: unknown } | null = { kernel: {} };
  readonly kernelChanged = new Signal<{ oldValue: unknown }>();
  readonly statusChanged = new Signal<string>();
  readonly connectionStatusChanged = new Signal<string>();
}

class Signal<Value> {
  private readonly slots = new Set<(sender: unknown, value: Value) => void>();
  connect = (slot: (sender: unknown, value: Value) => void) => void this.slots.add(slot);
  disconnect = (slot: (sender: unknown, value: Value) => void) => void this.slots.delete(slot);
  emit = (value: Value) => this.slots.forEach((slot) => slot(null, value));
}

const working = () => ({ level: "busy", message: "Training", detail: "step 3 of 9", progress: 0.3, left: "" });

function page(session: Session) {
  const shown = show(status, working(), { context: { sessionContext: session } });
  const around = document.createElement("div");
  around.className = "wb-page";
  around.innerHTML = '<div class="wb-side"></div><div class="wb-parameter-tree"></div>';
  around.append(shown.el);
  document.body.replaceChildren(around);
  const message = () => shown.el.querySelector('[role="status"]')?.textContent ?? "";
  return { ...shown, around, message };
}

describe("a page whose server does not answer", () => {
  it("says so after a while, and goes on with what is then", () => {
    vi.useFakeTimers();
    const session = new Session();
    const { message, model, el } = page(session);
    session.connectionStatusChanged.emit("connecting");
    vi.advanceTimersByTime(2000);
    session.connectionStatusChanged.emit("connected");
    vi.advanceTimersByTime(10_000);
    expect(message()).toBe("Training");
    session.connectionStatusChanged.emit("connecting");
    vi.advanceTimersByTime(2000);
    session.connectionStatusChanged.emit("disconnected");
    vi.advanceTimersByTime(3000);
    expect(message()).toContain("connection to the Jupyter server is lost");
    expect(el.dataset["level"]).toBe("error");
    model.receive("message", "Trained");
    session.connectionStatusChanged.emit("connected");
    expect(message()).toBe("Trained");
    vi.useRealTimers();
  });
});

describe("a page whose kernel is shut down", () => {
  it("says so, marks itself and keeps its forms from being used", () => {
    const session = new Session();
    const { around, message, model } = page(session);
    session.kernelChanged.emit({ oldValue: null });
    session.statusChanged.emit("busy");
    expect(message()).toBe("Training");
    session.kernelChanged.emit({ oldValue: session.session?.kernel });
    expect(message()).toContain("Run the cell again");
    expect(around.classList.contains("wb-kernel-gone")).toBe(true);
    expect(around.querySelector<HTMLElement>(".wb-side")?.inert).toBe(true);
    expect(around.querySelector<HTMLElement>(".wb-parameter-tree")?.inert).toBe(true);
    // What is still on its way changes nothing any more.
    model.receive("message", "Training");
    expect(message()).toContain("Run the cell again");
  });

  it("says so when another client restarts it", () => {
    const restarted = new Session();
    const { message } = page(restarted);
    for (const status of ["idle", "busy", "connecting"]) restarted.statusChanged.emit(status);
    expect(message()).toBe("Training");
    restarted.statusChanged.emit("starting");
    expect(message()).toContain("was restarted");
  });

  it("says so when it dies, or was gone before the view was opened", () => {
    const dying = new Session();
    const first = page(dying);
    dying.statusChanged.emit("dead");
    expect(first.message()).toContain("has died");

    vi.useFakeTimers();
    const gone = new Session();
    gone.session = null;
    const later = page(gone);
    vi.runAllTimers();
    vi.useRealTimers();
    expect(later.message()).toContain("Run the cell again");
    expect(later.around.classList.contains("wb-kernel-gone")).toBe(true);
  });

  it("has no buttons that can be pressed", () => {
    const session = new Session();
    const buttons = [{ name: "Stop", label: "Stop", enabled: true, shown: true, hint: "" }];
    const { el, model } = show(controls, { buttons }, { context: { sessionContext: session } });
    session.kernelChanged.emit({ oldValue: {} });
    el.querySelector("button")?.click();
    expect(model.sent).toEqual([]);
  });
});

describe("the questions of a graph to its kernel", () => {
  it("are refused, those asked before and those after, once it is gone", async () => {
    const line = new KernelLine(() => undefined);
    const before = line.ask({ kind: "details" }, "details");
    line.lose("The kernel is gone.");
    await expect(before).rejects.toThrow("The kernel is gone.");
    await expect(line.ask({ kind: "details" }, "details")).rejects.toThrow("The kernel is gone.");
  });

  it("leave no graph that is said to be read for ever", () => {
    const row = new PaneRow();
    row.arrange(["training"]);
    expect(row.root.textContent).toBe("Reading the training graph…");
    row.lose();
    row.arrange(["training"]);
    expect(row.root.textContent).toContain("was not read before the kernel was gone");
  });
});
