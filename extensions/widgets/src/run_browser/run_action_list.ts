// The actions for selected runs: their buttons, when they cannot be done, and the fields of their arguments.

import { formatWhole } from "../number_format";
import { isActive, isResumable, type RunRow } from "./run_row";

export interface Action {
  name: string;
  label: string;
  /** Why it cannot be done with these runs; empty if it can. */
  refusal: (rows: RunRow[], bases: readonly string[]) => string;
  /** Field for its argument, if it has one. */
  field?: Field;
  /** Takes selected runs that a filter hides too: it changes none of them. */
  hiddenToo?: boolean;
}

export interface Field {
  label: string | ((rows: RunRow[], whose: string) => string);
  value: (rows: RunRow[]) => string;
  many?: boolean;
  placeholder: string;
  longest: number;
  /** Its button; "Save" if not given. */
  submit?: string;
  /** What was typed may be refused: the form stays until the action is done. */
  mayBeRefused?: boolean;
  /** Alternatives for the text: names of actions and their labels, that of the action itself first. */
  ways?: [string, string][];
}

/** The way of exporting that `Run.export` knows by the suffix of the path. */
export const ADAPTERS = "adapters";
export const PERSONALISE = "personalise";
export const EXPORT = "export";
/** Actions that wait for an export: else one would be told the outcome of the other. */
export const AFTER_EXPORT = [EXPORT, "delete"];

const RESUMABLE = new Set(["interrupted", "stopped", "failed", "paused"]);
const one = (rows: RunRow[]) => (rows.length === 1 ? "" : "Select one run.");
const readable = (rows: RunRow[]) =>
  rows.find((row) => row.status === "unreadable")?.reason ?? "";
const all = (...refusals: Action["refusal"][]): Action["refusal"] => (rows, bases) =>
  refusals.map((refusal) => refusal(rows, bases)).find(Boolean) ?? "";

export const ACTIONS: Action[] = [
  { name: "open", label: "Open", refusal: all(one, readable) },
  {
    name: "compare",
    label: "Compare runs",
    refusal: all((rows) => (rows.length > 1 ? "" : "Select two runs or more."), readable),
    hiddenToo: true,
  },
  {
    name: "resume",
    label: "Resume",
    refusal: all(one, ([row]) => {
      if (!row || !RESUMABLE.has(row.status)) return "Only a run that is paused or has ended early can continue.";
      return isResumable(row) ? "" : `It took no ${row.stepWord}: open it, and press Use its settings to train it again.`;
    }),
  },
  {
    name: "train_further",
    label: "Train further …",
    refusal: all(one, readable, ([row]) => (row && isActive(row) ? "Stop the run before it is trained further." : "")),
    field: {
      label: ([row], whose) => `Total ${row?.stepWord ?? "step"}s${whose} (${formatWhole(row?.steps ?? 0)} taken)`,
      value: ([row]) => String((row && row.steps < row.totalSteps ? row.totalSteps : 2 * (row?.steps ?? 0)) || ""),
      placeholder: "a whole number",
      longest: 20,
      submit: "Train",
      mayBeRefused: true,
    },
  },
  {
    name: "stop",
    label: "Stop runs",
    refusal: (rows) => (rows.some(isActive) ? "" : "None of these runs is in progress."),
  },
  {
    name: EXPORT,
    label: "Export …",
    refusal: all(one, readable),
    field: {
      label: "ONNX file to write",
      value: ([row]) => `${row?.model.replace(/[^\w.-]+/g, "-") || "model"}.onnx`,
      placeholder: "model.onnx",
      longest: 1000,
      submit: "Export",
      mayBeRefused: true,
      ways: [
        [EXPORT, "float32, as trained"],
        ["quantize", "int8, and what that costs"],
        ["export_unmerged", "float32, LoRA's adapters as inputs"],
        [ADAPTERS, "LoRA's adapters alone"],
      ],
    },
  },
  {
    name: PERSONALISE,
    label: "Personalise",
    refusal: all(one, readable, ([row], bases) =>
      row && bases.includes(row.model) ? "" : `Only runs of ${bases.join(", ")} can be fine-tuned on your own examples.`,
    ),
  },
  {
    name: "rename",
    label: "Rename …",
    refusal: all(one, readable),
    field: { label: "Display name", value: ([row]) => row?.name ?? "", placeholder: "empty: model, engine and start", longest: 200 },
  },
  {
    name: "tag",
    label: "Tags …",
    refusal: readable,
    field: {
      label: (_, of) => `Tags${of}, separated by commas`,
      value: (rows) => sharedTags(rows).join(", "),
      placeholder: "baseline, lesson 2",
      longest: 3000,
    },
  },
  {
    name: "note",
    label: "Notes …",
    refusal: all(one, readable),
    field: { label: "Notes", value: ([row]) => row?.notes ?? "", many: true, placeholder: "", longest: 10000 },
  },
  {
    name: "delete",
    label: "Delete",
    refusal: (rows) => (rows.some(isActive) ? "Stop the run before it is deleted." : ""),
  },
];

/** The tags that all of the runs have. */
export function sharedTags(rows: RunRow[]): string[] {
  return (rows[0]?.tags ?? []).filter((tag) => rows.every((row) => row.tags.includes(tag)));
}
