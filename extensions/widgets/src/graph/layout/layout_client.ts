// Has groups laid out by a web worker; by this thread, a band at a time, where workers are refused.

import workerSource from "inline-worker:./layout_worker";
import { type LayoutInput, type LayoutResult, layOut } from "./layout";

interface Reply {
  number: number;
  result: LayoutResult | null;
}

export class LayoutClient {
  private worker: Worker | null = null;
  private readonly waiting = new Map<number, (result: LayoutResult | null) => void>();
  private readonly inputs = new Map<number, LayoutInput>();
  private count = 0;

  constructor() {
    try {
      const url = URL.createObjectURL(new Blob([workerSource], { type: "text/javascript" }));
      this.worker = new Worker(url);
      URL.revokeObjectURL(url);
    } catch {
      return; // a page may forbid workers from blobs
    }
    this.worker.onmessage = ({ data }: MessageEvent<Reply>) => this.finish(data.number, data.result);
    this.worker.onerror = (event) => {
      event.preventDefault();
      this.worker?.terminate();
      this.worker = null;
      for (const [number, input] of this.inputs) void this.here(number, input);
    };
  }

  /** Whether a worker does it. */
  get inWorker(): boolean {
    return this.worker !== null;
  }

  /** The layout, or null once `signal` aborts. */
  layOut(input: LayoutInput, signal: AbortSignal): Promise<LayoutResult | null> {
    const number = (this.count += 1);
    return new Promise((resolve) => {
      if (signal.aborted) {
        resolve(null);
        return;
      }
      this.waiting.set(number, resolve);
      this.inputs.set(number, input);
      signal.addEventListener("abort", () => {
        this.worker?.postMessage({ number });
        this.finish(number, null);
      });
      if (this.worker) this.worker.postMessage({ number, input });
      else void this.here(number, input);
    });
  }

  close(): void {
    this.worker?.terminate();
    for (const number of [...this.waiting.keys()]) this.finish(number, null);
  }

  private async here(number: number, input: LayoutInput): Promise<void> {
    const pause = async () => {
      await new Promise((resolve) => setTimeout(resolve));
      return this.waiting.has(number);
    };
    this.finish(number, await layOut(input, pause));
  }

  private finish(number: number, result: LayoutResult | null): void {
    this.waiting.get(number)?.(result);
    this.waiting.delete(number);
    this.inputs.delete(number);
  }
}
