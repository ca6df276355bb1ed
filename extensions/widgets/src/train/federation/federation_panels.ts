// Charts of a federated run.

import { type HorizontalAxis, horizontalAxis } from "../../charts/series/axis";
import type { Range } from "../../charts/panel/scales";
import { formatBytes, formatLoss, formatSignificant, formatWhole } from "../../number_format";
import type { EngineStyle } from "../../theme";
import type { LineGroup, PanelContent } from "./round_panel";
import type { Rounds } from "./rounds";

export interface Federated {
  rounds: Rounds;
  /** Names of the clients' lines, or of what they are between. */
  names: string[];
  /** The global weights on the test rows of each client. */
  lines: Float64Array[];
  measure: "accuracy" | "loss";
  totalRounds: number;
  /** 0 without differential privacy. */
  delta: number;
}

const STRONG: EngineStyle = { color: "#171717", dark_color: "#f5f5f5", dash: [] };
const DASHED: EngineStyle = { ...STRONG, dash: [6, 4] };
const FAINT: EngineStyle = { color: "#64748b", dark_color: "#94a3b8", dash: [] };
const FAINT_WIDTH = 0.8;
const HINT = "The lines begin with the first round.";

const ROUND_AXIS: HorizontalAxis = { ...horizontalAxis("step"), label: "round" };

function epsilonAxis(delta: number): HorizontalAxis {
  const powers = Array.from({ length: 10 }, (_, power) => 10 ** (power - 3));
  return {
    label: `epsilon so far, at delta ${delta.toExponential()}`,
    space: 56,
    increments: powers.flatMap((power) => [power, 2 * power, 5 * power]),
    text: (value) => (value === 0 ? "0" : String(Number(value.toPrecision(3)))),
  };
}

/** Of accuracy in per cent, of a loss as it is. */
function valueText(measure: Federated["measure"], value: number | undefined): string {
  if (value === undefined || !Number.isFinite(value)) return "–";
  return measure === "accuracy" ? `${(100 * value).toFixed(1)}\u00a0%` : formatLoss(value);
}

function secondsText(value: number | undefined): string {
  return value === undefined || !Number.isFinite(value) ? "–" : `${formatSignificant(value)}\u00a0s`;
}

export function panelContents(run: Federated): PanelContent[] {
  const { rounds, totalRounds, delta } = run;
  const last = Math.max(totalRounds, rounds.round[rounds.round.length - 1] ?? 0, 1);
  const overRounds = {
    axis: ROUND_AXIS,
    x: rounds.round,
    range: [0.5, last + 0.5] as Range,
    fromZero: true,
    hint: HINT,
  };
  const count = (values: Float64Array) => (index: number) => formatWhole(values[index] ?? 0);
  const bytes = (values: Float64Array) => (index: number) => formatBytes(values[index] ?? 0);
  const megabytes = (values: Float64Array) => values.map((each) => each / 1e6);
  const reached = reachedGroup(run);
  const found: PanelContent[] = [
    { ...overRounds, ...reached.head, fromZero: false, groups: [reached.global, reached.clients] },
    {
      ...overRounds,
      title: "Traffic",
      unit: "MB in all",
      groups: [
        line("sent by the server", megabytes(rounds.sentBytes), STRONG, bytes(rounds.sentBytes)),
        line("received", megabytes(rounds.receivedBytes), DASHED, bytes(rounds.receivedBytes)),
      ],
    },
    { ...overRounds, title: "Time of a round", unit: "s", groups: timeGroups(rounds) },
    {
      ...overRounds,
      title: "Clients of a round",
      unit: "",
      groups: [
        line("trained", rounds.trained, STRONG, count(rounds.trained)),
        line("left out", rounds.leftOut, DASHED, count(rounds.leftOut)),
      ],
    },
  ];
  if (delta > 0) found.push(privacyPanel(run, reached));
  return found;
}

function line(name: string, values: ArrayLike<number>, style: EngineStyle, textAt: LineGroup["textAt"]): LineGroup {
  return { name, lines: [{ y: values, style }], textAt };
}

/** Of a simulation also the time that its devices would have taken. */
function timeGroups({ seconds, simulatedSeconds }: Rounds): LineGroup[] {
  const group = (name: string, values: Float64Array, style: EngineStyle) =>
    line(name, values, style, (index) => secondsText(values[index]));
  if (!simulatedSeconds.some(Number.isFinite)) return [group("", seconds, STRONG)];
  return [
    group("on this machine", seconds, STRONG),
    group("on devices (simulated)", simulatedSeconds, DASHED),
  ];
}

function reachedGroup({ rounds, names, lines, measure }: Federated) {
  const factor = measure === "accuracy" ? 100 : 1;
  const scaled = (values: Float64Array) => values.map((each) => factor * each);
  const clients = (index: number) => {
    const known = lines.map((values) => values[index] as number).filter(Number.isFinite);
    if (!known.length) return "–";
    const [low, high] = [Math.min(...known), Math.max(...known)];
    return `${valueText(measure, low)} to ${valueText(measure, high)}`;
  };
  return {
    head: {
      title: measure === "accuracy" ? "Accuracy" : "Loss",
      unit: measure === "accuracy" ? "% of test rows" : "on test rows",
    },
    global: {
      name: "global weights, whole test split",
      lines: [{ y: scaled(rounds.value), style: STRONG }],
      textAt: (index: number) => valueText(measure, rounds.value[index]),
    },
    clients: {
      name: names[0]?.startsWith("client") ? "each client's own test rows" : `clients: ${names.join(", ")}`,
      lines: lines.map((values) => ({ y: scaled(values), style: FAINT, width: FAINT_WIDTH })),
      textAt: clients,
    },
  };
}

function privacyPanel(run: Federated, { head, global }: ReturnType<typeof reachedGroup>): PanelContent {
  const { rounds, delta } = run;
  const spent = rounds.epsilon[rounds.epsilon.length - 1] ?? 0;
  return {
    axis: epsilonAxis(delta),
    x: rounds.epsilon,
    range: [0, spent > 0 ? 1.05 * spent : 1],
    fromZero: false,
    hint: HINT,
    title: `${head.title} by epsilon`,
    unit: `${head.unit}, for the privacy spent so far`,
    groups: [{ ...global, name: "global weights" }],
  };
}
