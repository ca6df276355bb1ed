// What the module of each widget exports.
//
// anywidget 0.11 gives up a model whose module is not loaded after 2 s. Its views are shown
// all the same, but what the kernel sends to it from then on is dropped: a page that was opened while
// training keeps the processors busy would look alive and never change. Here such a message is
// handed to the class that anywidget's model extends, and what was missed is asked for.

import type { AnyModel, Initialize, Render } from "@anywidget/types";

/** What anywidget says of a model that it has given up. */
const GIVEN_UP = "[anywidget] Failed to initialize model.";

/** A message that no model acts upon. */
const NOTHING = { content: { data: { method: "" } } };

/** The part of a Jupyter widget's model that anywidget does not hand out. */
interface JupyterModel {
  comm?: {
    on_msg(handle: Handler): void;
    send(data: object, callbacks: object, metadata: object, buffers: ArrayBuffer[]): void;
  };
  _handle_comm_msg: Handler;
  get(name: string): unknown;
}

type Handler = (message: unknown) => Promise<unknown>;

interface View<Traits extends Record<string, any>> {
  initialize?: Initialize<Traits>;
  render: Render<Traits>;
}

/** The module of a widget. */
export function widget<Traits extends Record<string, any>>(view: View<Traits>): View<Traits> {
  return {
    initialize(props) {
      withJupyterModel(props.model, receiveAll);
      return view.initialize?.(props);
    },
    render: view.render,
  };
}

/** Calls `use` with the model of Jupyter behind `model`, where its manager can be asked for it. */
function withJupyterModel(model: AnyModel, use: (model: JupyterModel) => void): void {
  const manager = model.widget_manager as { _models?: Record<string, Promise<JupyterModel>> } | undefined;
  const layout = model.get("layout"); // an object of its own for each widget
  for (const each of Object.values(manager?._models ?? {})) {
    each.then(
      (found) => {
        if (layout && found.comm && found.get("layout") === layout) use(found);
      },
      () => {}, // a model that could not be made is none of this widget
    );
  }
}

/** Passes on every message of the kernel, though anywidget has given up `model`, or will. */
function receiveAll(model: JupyterModel): void {
  const base = Object.getPrototypeOf(Object.getPrototypeOf(model)) as JupyterModel;
  const received = async (message: unknown) => {
    try {
      return await model._handle_comm_msg(message);
    } catch (error) {
      if (!isGivenUp(error)) throw error;
      return base._handle_comm_msg.call(model, message);
    }
  };
  model.comm?.on_msg(received);
  model._handle_comm_msg(NOTHING).catch((error: unknown) => {
    if (!isGivenUp(error)) throw error;
    model.comm?.send({ method: "request_state" }, {}, {}, []);
  });
}

function isGivenUp(error: unknown): boolean {
  return error instanceof Error && error.message === GIVEN_UP;
}
