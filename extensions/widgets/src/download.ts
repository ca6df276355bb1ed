// Hands a file to the browser, as if it had been downloaded.

import { element } from "./element";

/** How long the browser may take to begin with it, in milliseconds. */
const KEPT_MS = 60_000;

export function download(name: string, content: BlobPart, type = ""): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  element("a", { href: url, download: name }).click();
  window.setTimeout(() => URL.revokeObjectURL(url), KEPT_MS);
}
