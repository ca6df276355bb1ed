// Whether the kernel that made a page is still there.

import type { AnyModel } from "@anywidget/types";

/** What the widget manager's own model says when it loses its comm, as after a kernel restart. */
const LOST = "comm_live_update";

/** Calls `callback` when the kernel that made `model` was restarted, shut down or died. */
export function onKernelGone(model: AnyModel, callback: () => void): void {
  model.on(LOST, callback);
}

/** Whether the page around `el` has lost its kernel. */
export function isKernelGone(el: Element): boolean {
  return el.closest(".wb-kernel-gone") !== null;
}
