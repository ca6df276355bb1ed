// A widget model without a kernel: it keeps traits and tells its listeners, as Jupyter's does.

import type { AnyModel } from "@anywidget/types";
import { onTestFinished } from "vitest";

export class WidgetModel<Traits extends object> {
  /** What `save_changes` would have sent to the kernel so far, one entry a call. */
  readonly saved: Partial<Traits>[] = [];
  /** What was sent to the kernel by messages, and their buffers. */
  readonly sent: unknown[] = [];
  readonly sentBuffers: ArrayBuffer[][] = [];
  private unsaved: Partial<Traits> = {};
  private listeners: [string, (content?: unknown) => void][] = [];

  constructor(private readonly traits: Traits) {}

  get<Name extends keyof Traits>(name: Name): Traits[Name] {
    return this.traits[name];
  }

  set<Name extends keyof Traits>(name: Name, value: Traits[Name]): void {
    this.traits[name] = value;
    this.unsaved[name] = value;
    this.tell(name);
  }

  save_changes(): void {
    this.saved.push(this.unsaved);
    this.unsaved = {};
  }

  send(content: unknown, _callbacks?: unknown, buffers: ArrayBuffer[] = []): void {
    this.sent.push(content);
    this.sentBuffers.push(buffers);
  }

  /** As JupyterLab's; none elsewhere. */
  widget_manager: unknown = undefined;

  /** The kernel is gone, as Jupyter's widget manager tells it. */
  lose(): void {
    for (const [event, listener] of this.listeners) if (event === "comm_live_update") listener();
  }

  on(event: string, listener: (content?: unknown) => void): void {
    this.listeners.push([event, listener]);
  }

  off(event: string, listener: (content?: unknown) => void): void {
    this.listeners = this.listeners.filter(([of, each]) => of !== event || each !== listener);
  }

  /** A change that comes from the kernel. */
  receive<Name extends keyof Traits>(name: Name, value: Traits[Name]): void {
    this.traits[name] = value;
    this.tell(name);
  }

  /** A message of the kernel. */
  hear(content: unknown): void {
    for (const [event, listener] of this.listeners) if (event === "msg:custom") listener(content);
  }

  private tell(name: keyof Traits): void {
    for (const [event, listener] of this.listeners) {
      if (event === "change" || event === `change:${String(name)}`) listener();
    }
  }
}

type View<Traits extends Record<string, unknown>> = {
  render: (props: { model: AnyModel<Traits>; el: HTMLElement; signal: AbortSignal }) => void;
};

/** A signal that ends with the test, so that no timer of a view outlives it. */
export function signalOfTest(): AbortSignal {
  const ended = new AbortController();
  onTestFinished(() => ended.abort());
  return ended.signal;
}

/** Renders `view` into the document until the test ends; returns its element and its model. */
export function show<Traits extends Record<string, unknown>>(view: unknown, traits: Traits, manager?: unknown) {
  const model = new WidgetModel(traits);
  model.widget_manager = manager;
  const el = document.createElement("div");
  document.body.replaceChildren(el);
  const signal = signalOfTest();
  const anyModel = model as unknown as AnyModel<Traits>;
  (view as View<Traits>).render({ model: anyModel, el, signal });
  return { el, model };
}
