// What happens on one chart, for those who draw all of them.

import type { Metric } from "../series/line";
import type { Range } from "./scales";

export interface PanelListener {
  /** The pointer or a key asks all charts to look at `x`; null: at none. */
  onPoint: (x: number | null) => void;
  onSelect: (range: Range) => void;
  /** The window of the view has changed. */
  onWindow: () => void;
  onReset: () => void;
  onToggle: (key: string) => void;
  onHighlight: (key: string | null) => void;
  onScale: (metric: Metric, scale: "linear" | "log") => void;
  /** The result of a key press, for screen readers. */
  onRead: (sentence: string) => void;
}
