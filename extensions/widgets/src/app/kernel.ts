// Whether the kernel that made a page is still there.

import type { AnyModel } from "@anywidget/types";

/** Event of the widget manager's model when it loses its comm, as after a kernel restart. */
const LOST = "comm_live_update";

/** Time for JupyterLab to render the parts of a page, one by one, in milliseconds. */
const WHOLE_MS = 1000;

/** Message in place of the status of a page. */
export const GONE =
  "Run the cell again for a new page: the kernel that made this page was restarted, shut down or has died. The new " +
  "page offers runs that go on or were interrupted, and lists all of them in Runs.";

/** Message while the server does not answer. */
export const OFFLINE =
  "The connection to the Jupyter server is lost. Start the server again if it has ended (jupyter lab). Nothing can be done " +
  "here until it is back; then the page goes on by itself, if the kernel is still there.";

/** Time in milliseconds that a lost connection may take to come back unnoticed. */
const OFFLINE_MS = 3000;

interface Signal<Value> {
  connect(slot: (sender: unknown, value: Value) => void): unknown;
  disconnect(slot: (sender: unknown, value: Value) => void): unknown;
}

/** The part of JupyterLab's session that describes its kernel; other front ends have none. */
interface Session {
  session: { kernel: unknown } | null;
  kernelChanged: Signal<{ oldValue: unknown }>;
  statusChanged: Signal<string>;
  /** "connected", "connecting" or "disconnected". */
  connectionStatusChanged?: Signal<string>;
}

function sessionOf(model: AnyModel): Session | undefined {
  const manager = model.widget_manager as { context?: { sessionContext?: Session } } | undefined;
  return manager?.context?.sessionContext;
}

/** Calls `callback` when the connection to the server has been lost for a while, and when it is back. */
export function onConnection(model: AnyModel, callback: (lost: boolean) => void, signal: AbortSignal): void {
  const changes = sessionOf(model)?.connectionStatusChanged;
  if (!changes) return;
  let [timer, lost] = [0, false];
  const changed = (_: unknown, now: string) => {
    window.clearTimeout(timer);
    if (now === "connected") {
      if (lost) callback((lost = false));
    } else if (!lost) timer = window.setTimeout(() => callback((lost = true)), OFFLINE_MS);
  };
  changes.connect(changed);
  signal.addEventListener("abort", () => {
    window.clearTimeout(timer);
    changes.disconnect(changed);
  });
}

/**
 * Calls `callback` once, when the kernel that made `model` was restarted, shut down or died, or
 * another was chosen for the notebook. Of a kernel that is shut down the widget manager says nothing.
 */
export function onKernelGone(model: AnyModel, callback: () => void, signal: AbortSignal): void {
  const session = sessionOf(model);
  let reported = false;
  const report = () => {
    if (reported || signal.aborted) return;
    reported = true;
    callback();
  };
  model.on(LOST, report);
  if (!session) return;
  const changed = (_: unknown, { oldValue }: { oldValue: unknown }) => {
    if (oldValue) report();
  };
  const status = (_: unknown, now: string) => {
    // A kernel that another client restarts says no more than that it is starting.
    if (now === "dead" || now === "starting") report();
  };
  session.kernelChanged.connect(changed);
  session.statusChanged.connect(status);
  signal.addEventListener("abort", () => {
    session.kernelChanged.disconnect(changed);
    session.statusChanged.disconnect(status);
  });
  // A view that is opened later, of a page whose kernel is gone already; once all of it is there.
  if (!session.session?.kernel) setTimeout(report, WHOLE_MS);
}

/** Whether the page around `el` has lost its kernel. */
export function isKernelGone(el: Element): boolean {
  return el.closest(".wb-kernel-gone") !== null;
}

/** Marks the page around `el`, whose fields and buttons can then be read but not used. */
export function markKernelGone(el: Element): void {
  const page = el.closest(".wb-page");
  page?.classList.add("wb-kernel-gone");
  // Settings and all controls that send requests to the kernel. Charts and tabs stay usable.
  const asks = ".wb-side, .wb-tasks, .wb-parameter-tree, .wb-run-detail, .wb-offer-list, .wb-layer-record";
  for (const part of page?.querySelectorAll<HTMLElement>(asks) ?? []) part.inert = true;
}
