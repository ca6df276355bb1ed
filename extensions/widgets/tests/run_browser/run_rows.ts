// Rows of runs for tests.

import type { RunRow } from "../../src/run_browser/run_row";

export function row(id: string, more: Partial<RunRow> = {}): RunRow {
  return {
    id,
    name: id,
    status: "completed",
    model: "digits-mlp",
    dataset: "digits",
    engine: "pytorch",
    damage: "",
    trainedBy: more.engine ?? "pytorch",
    settings: "",
    comparison: "",
    reason: "",
    started: 1,
    durationS: 134,
    stepWord: "step",
    steps: 100,
    totalSteps: 100,
    lastLoss: 0.5,
    bestLoss: 0.25,
    metricName: "accuracy",
    metric: 0.974,
    testLoss: null,
    samplesPerS: 1234,
    disturbance: "",
    wasPaused: false,
    loadKnown: true,
    sampled: false,
    complete: true,
    tags: [],
    notes: "",
    curve: new Float32Array([2, 1]),
    ...more,
  };
}
