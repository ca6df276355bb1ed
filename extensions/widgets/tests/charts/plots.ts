// In place of uPlot, which draws on a canvas that there is none of here. Tests share what is imported.

interface Axis {
  font: string;
  label?: string;
}

/** Sizes of the plots in the order in which they were made, as they are now. */
export const plots: { width: number; height: number; axes: Axis[] }[] = [];

/** Shows the page as a presentation does, so many times larger. Here no element inherits a variable. */
export function present(zoom: number): void {
  document.querySelector("#zoom")?.remove();
  const sheet = document.createElement("style");
  sheet.id = "zoom";
  sheet.textContent = `* { --wb-zoom: ${zoom}; }`;
  if (zoom !== 1) document.head.append(sheet);
}

export default class {
  over = document.createElement("div");
  cursor = { left: -10 };
  width: number;
  height: number;
  axes: Axis[];

  constructor(options: { width: number; height: number; axes: Axis[] }) {
    ({ width: this.width, height: this.height, axes: this.axes } = options);
    plots.push(this);
  }

  setSize({ width, height }: { width: number; height: number }): void {
    this.width = width;
    this.height = height;
  }

  batch(): void {}
  setCursor(): void {}
  destroy(): void {}
}
