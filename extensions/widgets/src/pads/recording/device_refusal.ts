// Why a camera or microphone cannot be used, in one sentence.

const REASONS: Record<string, string> = {
  NotAllowedError: "permission was denied; allow it in the browser's settings of this page",
  NotFoundError: "none was found on this computer",
  NotReadableError: "another program is using it",
  OverconstrainedError: "it does not support the requested mode",
};

/**
 * The sentence.
 *
 * @param device "camera" or "microphone".
 * @param meanwhile what continues without it.
 */
export function refusal(device: string, error: unknown, meanwhile: string): string {
  const name = error instanceof Error ? error.name : "";
  const reason = REASONS[name] ?? `the browser says: ${error instanceof Error ? error.message : String(error)}`;
  return `The ${device} cannot be used: ${reason}. ${meanwhile}`;
}

/** A stream of what `constraints` ask for; an Error where the browser has no such thing. */
export async function openDevice(constraints: MediaStreamConstraints): Promise<MediaStream> {
  // Browsers hide it from pages that come over plain HTTP from another computer.
  if (!navigator.mediaDevices?.getUserMedia) {
    throw new Error("pages have it only over HTTPS or from this computer");
  }
  return navigator.mediaDevices.getUserMedia(constraints);
}

export function closeDevice(stream: MediaStream | null): void {
  for (const track of stream?.getTracks() ?? []) track.stop();
}
