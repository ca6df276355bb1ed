// In place of uPlot, which draws on a canvas that there is none of here. Tests share what is imported.

/** Sizes of the plots in the order in which they were made, as they are now. */
export const plots: { width: number; height: number }[] = [];

export default class {
  over = document.createElement("div");
  cursor = { left: -10 };
  width: number;
  height: number;

  constructor(options: { width: number; height: number }) {
    ({ width: this.width, height: this.height } = options);
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
