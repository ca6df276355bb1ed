// Sound as an array of samples between -1 and 1.

/** Root mean square of `samples`; 0 when there are none. */
export function rootMeanSquare(samples: Float32Array): number {
  if (samples.length === 0) return 0;
  let sum = 0;
  for (const sample of samples) sum += sample * sample;
  return Math.sqrt(sum / samples.length);
}

/** One array of several. */
export function joined(parts: Float32Array[]): Float32Array {
  const whole = new Float32Array(parts.reduce((sum, part) => sum + part.length, 0));
  let at = 0;
  for (const part of parts) {
    whole.set(part, at);
    at += part.length;
  }
  return whole;
}

/** The sound of an audio file, all channels averaged, at `rate` samples per second. */
export async function decoded(file: ArrayBuffer, rate: number): Promise<Float32Array> {
  const context = new OfflineAudioContext(1, 1, rate);
  const buffer = await context.decodeAudioData(file);
  const mono = new Float32Array(buffer.length);
  for (let channel = 0; channel < buffer.numberOfChannels; channel += 1) {
    buffer.getChannelData(channel).forEach((sample, at) => {
      mono[at] = (mono[at] as number) + sample / buffer.numberOfChannels;
    });
  }
  return mono;
}

/** Plays samples once. */
export function play(samples: Float32Array, rate: number): void {
  const context = new AudioContext();
  const buffer = context.createBuffer(1, samples.length, rate);
  buffer.getChannelData(0).set(samples);
  const source = context.createBufferSource();
  source.buffer = buffer;
  source.connect(context.destination);
  source.addEventListener("ended", () => void context.close());
  source.start();
}
