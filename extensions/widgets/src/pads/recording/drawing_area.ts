// A square to draw in: with a mouse, a pen, a finger or the arrow keys.

import { element, freshId } from "../../element";
import { addPoint, type Stroke } from "./strokes";

const PIXELS = 320;
/** Of the canvas for one of these, so that it is sharp on a fine screen and in a presentation. */
const FINENESS = 2;
const LINE = 14;
/** How far an arrow key moves the pen, as a share of the width; with Shift. */
const MOVE = 1 / 28;
const MOVE_FAR = 1 / 7;

const KEYS: Record<string, [number, number]> = {
  ArrowLeft: [-1, 0],
  ArrowRight: [1, 0],
  ArrowUp: [0, -1],
  ArrowDown: [0, 1],
};

interface Listener {
  /** The drawing has changed. */
  onChange(): void;
  /** Enter was pressed in the area. */
  onEnter(): void;
  /** A sentence for those who do not see the area. */
  say(sentence: string): void;
}

export class DrawingArea {
  readonly root: HTMLElement;
  private readonly canvas: HTMLCanvasElement;
  private readonly hint: HTMLElement;
  private strokes: Stroke[] = [];
  private pointer: number | null = null;
  private pen = { x: 0.5, y: 0.5, down: false, shown: false };

  constructor(
    name: string,
    hint: string,
    private readonly listener: Listener,
  ) {
    const keys = freshId("keys");
    this.canvas = element("canvas", {
      class: "wb-ink",
      tabindex: "0",
      role: "application",
      "aria-roledescription": "drawing area",
      "aria-label": name,
      "aria-describedby": keys,
    });
    this.canvas.width = FINENESS * PIXELS;
    this.canvas.height = FINENESS * PIXELS;
    this.hint = element("span", { class: "wb-drawing-hint", "aria-hidden": "true" }, hint);
    const help = "Arrow keys move the pen, Space lowers and lifts it, Enter is done, Delete clears.";
    this.root = element(
      "div",
      { class: "wb-drawing" },
      this.canvas,
      this.hint,
      element("p", { class: "wb-note wb-keys", id: keys }, help),
    );
    this.listenToPointer();
    this.canvas.addEventListener("keydown", (event) => this.onKey(event));
    this.canvas.addEventListener("blur", () => {
      this.pen.shown = false;
      this.pen.down = false;
      this.draw();
    });
  }

  get drawing(): Stroke[] {
    return this.strokes.filter((stroke) => stroke.length > 0);
  }

  clear(): void {
    this.strokes = [];
    this.pen.down = false;
    this.changed();
  }

  undo(): void {
    this.strokes.pop();
    this.pen.down = false;
    this.changed();
  }

  private listenToPointer(): void {
    const { canvas } = this;
    const place = (event: PointerEvent) => {
      const box = canvas.getBoundingClientRect();
      return [(event.clientX - box.left) / box.width, (event.clientY - box.top) / box.height] as const;
    };
    canvas.addEventListener("pointerdown", (event) => {
      if (this.pointer !== null || event.button !== 0) return;
      event.preventDefault();
      canvas.focus({ preventScroll: true });
      canvas.setPointerCapture?.(event.pointerId);
      this.pointer = event.pointerId;
      this.pen.shown = false;
      this.strokes.push([]);
      addPoint(this.strokes, ...place(event));
      this.changed();
    });
    canvas.addEventListener("pointermove", (event) => {
      if (event.pointerId !== this.pointer) return;
      const all = event.getCoalescedEvents?.() ?? [];
      for (const each of all.length ? all : [event]) addPoint(this.strokes, ...place(each));
      this.changed();
    });
    const lift = (event: PointerEvent) => {
      if (event.pointerId === this.pointer) this.pointer = null;
    };
    canvas.addEventListener("pointerup", lift);
    canvas.addEventListener("pointercancel", lift);
  }

  private onKey(event: KeyboardEvent): void {
    const move = KEYS[event.key];
    if (move) this.movePen(move, event.shiftKey ? MOVE_FAR : MOVE);
    else if (event.key === " ") this.togglePen();
    else if (event.key === "Enter") this.listener.onEnter();
    else if (event.key === "Delete" || event.key === "Backspace") {
      this.clear();
      this.listener.say("The drawing is cleared.");
    } else if (event.key.toLowerCase() === "z" && (event.ctrlKey || event.metaKey)) this.undo();
    else return;
    event.preventDefault();
    // JupyterLab has keys of its own for cells.
    event.stopPropagation();
  }

  private movePen([right, down]: [number, number], far: number): void {
    const { pen } = this;
    pen.shown = true;
    pen.x = Math.min(Math.max(pen.x + right * far, 0), 1);
    pen.y = Math.min(Math.max(pen.y + down * far, 0), 1);
    if (pen.down) {
      addPoint(this.strokes, pen.x, pen.y);
      this.changed();
    } else this.draw();
  }

  private togglePen(): void {
    const { pen } = this;
    pen.shown = true;
    pen.down = !pen.down;
    if (pen.down) {
      this.strokes.push([]);
      addPoint(this.strokes, pen.x, pen.y);
    }
    const at = `${Math.round(100 * pen.x)}\u00a0% from the left, ${Math.round(100 * pen.y)}\u00a0% from the top`;
    this.listener.say(`Pen ${pen.down ? "down" : "up"}, ${at}.`);
    this.changed();
  }

  private changed(): void {
    this.draw();
    this.listener.onChange();
  }

  private draw(): void {
    this.hint.hidden = this.drawing.length > 0 || this.pen.shown;
    const context = this.canvas.getContext("2d");
    if (!context) return;
    context.setTransform(FINENESS, 0, 0, FINENESS, 0, 0);
    context.clearRect(0, 0, PIXELS, PIXELS);
    context.lineWidth = LINE;
    context.lineCap = "round";
    context.lineJoin = "round";
    for (const stroke of this.drawing) {
      context.beginPath();
      context.moveTo(PIXELS * (stroke[0] as number), PIXELS * (stroke[1] as number));
      for (let at = 0; at < stroke.length; at += 2) {
        context.lineTo(PIXELS * (stroke[at] as number), PIXELS * (stroke[at + 1] as number));
      }
      context.stroke();
    }
    if (this.pen.shown) this.drawPen(context);
  }

  private drawPen(context: CanvasRenderingContext2D): void {
    const [x, y] = [PIXELS * this.pen.x, PIXELS * this.pen.y];
    context.lineWidth = 2;
    context.beginPath();
    context.arc(x, y, LINE / 2 + 3, 0, 2 * Math.PI);
    context.moveTo(x - 16, y);
    context.lineTo(x + 16, y);
    context.moveTo(x, y - 16);
    context.lineTo(x, y + 16);
    context.stroke();
  }
}
