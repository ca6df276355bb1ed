// Title, unit and number format of each chart.

import { formatLoss, formatMegabytes, formatSignificant } from "../../number_format";
import type { Metric } from "../series/line";

export interface MetricText {
  title: string;
  /** Title and unit as they are read aloud. */
  spoken: string;
  unit: string;
  fromZero: boolean;
  format: (value: number) => string;
}

export const METRIC_TEXTS: Record<Metric, MetricText> = {
  loss: { title: "Loss", spoken: "Loss per batch", unit: "per batch", fromZero: false, format: formatLoss },
  throughput: {
    title: "Throughput",
    spoken: "Throughput in samples per second",
    unit: "samples/s",
    fromZero: true,
    format: formatSignificant,
  },
  memory: {
    title: "Memory",
    spoken: "Memory in megabytes",
    unit: "MB, resident set",
    fromZero: true,
    format: formatMegabytes,
  },
  metric: {
    title: "Evaluation",
    spoken: "Evaluation on the test split",
    unit: "on the test split",
    fromZero: false,
    format: formatSignificant,
  },
};
