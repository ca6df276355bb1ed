// Runs in a web worker: lays out one group at a time, until it is cancelled.

import { type LayoutInput, layOut } from "./layout";

export interface Job {
  number: number;
  /** Missing where the job is to be given up. */
  input?: LayoutInput;
}

const wanted = new Set<number>();
const channel = new MessageChannel();

/** Lets messages in; a timer would wait for milliseconds. */
function turn(): Promise<void> {
  return new Promise((resolve) => {
    channel.port1.onmessage = () => resolve();
    channel.port2.postMessage(null);
  });
}

let last: Promise<void> = Promise.resolve();

self.onmessage = ({ data: { number, input } }: MessageEvent<Job>) => {
  if (!input) {
    wanted.delete(number);
    return;
  }
  wanted.add(number);
  last = last.then(async () => {
    const result = await layOut(input, async () => {
      await turn();
      return wanted.has(number);
    });
    wanted.delete(number);
    self.postMessage({ number, result });
  });
};
