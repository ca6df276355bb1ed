// Messages of the kernel to a model that anywidget has given up.

import { expect, test, vi } from "vitest";
import { widget } from "../src/widget";

const GIVEN_UP = "[anywidget] Failed to initialize model.";

/** A model of Jupyter, as anywidget extends it: `ready` is when its module was loaded. */
function jupyterModel(ready: Promise<void>) {
  const received: unknown[] = [];
  class DOMWidgetModel {
    layout = {};
    handle: (message: unknown) => Promise<unknown> = () => Promise.resolve();
    comm = { on_msg: (handle: typeof this.handle) => void (this.handle = handle), send: vi.fn() };
    get = (name: string) => (name === "layout" ? this.layout : undefined);
    async _handle_comm_msg(message: unknown): Promise<void> {
      received.push(message);
    }
  }
  class AnyModel extends DOMWidgetModel {
    override async _handle_comm_msg(message: unknown): Promise<void> {
      await ready;
      return super._handle_comm_msg(message);
    }
  }
  return { model: new AnyModel(), received };
}

/** Initializes a widget of `model`, beside another of the page. */
async function initialize(model: ReturnType<typeof jupyterModel>["model"]) {
  const other = jupyterModel(Promise.resolve()).model;
  const _models = { a: Promise.resolve(other), b: Promise.reject(new Error("not made")), c: Promise.resolve(model) };
  const proxy = { get: model.get, widget_manager: { _models } };
  await widget({ render: () => {} }).initialize?.({ model: proxy } as never);
  await new Promise((resolve) => setTimeout(resolve));
  expect(other.comm.send).not.toHaveBeenCalled();
}

test("a model that was given up receives them, and what it has missed", async () => {
  const { model, received } = jupyterModel(Promise.reject(new Error(GIVEN_UP)));
  await initialize(model);
  expect(model.comm.send).toHaveBeenCalledWith({ method: "request_state" }, {}, {}, []);
  await model.handle("update");
  expect(received).toEqual(["update"]);
});

test("one that was loaded in time receives each once", async () => {
  const { model, received } = jupyterModel(Promise.resolve());
  await initialize(model);
  expect(model.comm.send).not.toHaveBeenCalled();
  received.length = 0;
  await model.handle("update");
  expect(received).toEqual(["update"]);
});

test("another error of a message is not hidden", async () => {
  const { model, received } = jupyterModel(Promise.resolve());
  await initialize(model);
  model._handle_comm_msg = () => Promise.reject(new Error("wrong"));
  await expect(model.handle("update")).rejects.toThrow("wrong");
  expect(received).not.toContain("update");
});

test("without a manager that can be asked the widget begins as usual", async () => {
  const begins = vi.fn();
  await widget({ initialize: begins, render: () => {} }).initialize?.({ model: { get: () => null } } as never);
  expect(begins).toHaveBeenCalled();
});
