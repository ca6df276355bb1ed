// The scenes that are made for a pane: the one that it waits for, and the one that it may show next.

import type { Scene, SceneMaker } from "../drawing/scene";

export interface SceneRequest {
  /** The open groups. */
  open: ReadonlySet<number>;
  /** Null once it was given up. */
  scene: Promise<Scene | null>;
  abort: AbortController;
}

export class SceneRequests {
  private awaited: SceneRequest | null = null;
  private ahead: SceneRequest | null = null;

  constructor(private readonly maker: SceneMaker) {}

  /** The scene with these groups open, perhaps made ahead; gives up all others. */
  ask(open: ReadonlySet<number>): SceneRequest {
    this.cancel();
    const prepared = this.ahead && isSame(this.ahead.open, open) ? this.ahead : null;
    if (!prepared) this.ahead?.abort.abort();
    this.ahead = null;
    return (this.awaited = prepared ?? this.begin(open));
  }

  /** Makes the scene with these groups open ahead, as it may be asked for next; null: none. */
  prepare(open: ReadonlySet<number> | null): void {
    this.ahead?.abort.abort();
    this.ahead = open && this.begin(open);
  }

  /** Whether nothing was asked for since. */
  isLast(request: SceneRequest): boolean {
    return request === this.awaited;
  }

  /** Gives up the scene that is waited for. */
  cancel(): void {
    this.awaited?.abort.abort();
  }

  close(): void {
    this.cancel();
    this.prepare(null);
  }

  private begin(open: ReadonlySet<number>): SceneRequest {
    const abort = new AbortController();
    return { open, abort, scene: this.maker.make(open, abort.signal) };
  }
}

function isSame(first: ReadonlySet<number>, second: ReadonlySet<number>): boolean {
  return first.size === second.size && [...first].every((group) => second.has(group));
}
