// What the window's main thread does from frame to frame, as Chrome's own trace has it.
import type { Panel } from "./panel.ts";

interface Event {
  name: string;
  pid: number;
  tid: number;
  ts: number;
  /** Microseconds on the processor. */
  tdur?: number;
  args: { name?: string };
}

export interface Frames {
  /** Milliseconds from one frame to the next, the shortest first: as long as this machine's other work lets them be. */
  readonly apart: number[];
  /** Milliseconds on the processor that the main thread worked for each frame, the shortest first. */
  readonly work: number[];
}

/** The frames while something goes on, which is to ask for one after the other. */
export async function framesOf(panel: Panel, work: () => Promise<unknown>): Promise<Frames> {
  const browser = panel.page.context().browser();
  const categories = ["-*", "toplevel", "disabled-by-default-devtools.timeline.frame"];
  await browser?.startTracing(panel.page, { categories });
  await work();
  const trace = JSON.parse(String(await browser?.stopTracing())) as { traceEvents: Event[] };
  return framesIn(trace.traceEvents);
}

/** `words`, with how long the frames were. */
export function told(words: string, { apart, work }: Frames): string {
  const shares = (values: number[]) => [0.5, 0.9, 0.98, 1].map((share) => at(values, share)).join(", ");
  return `${words}: ${work.length} frames; ms 50%, 90%, 98%, all: ${shares(apart)} apart, ${shares(work)} of work`;
}

export function at(sorted: number[], share: number): number {
  return Math.round(sorted[Math.min(Math.floor(sorted.length * share), sorted.length - 1)] ?? 0);
}

function framesIn(events: Event[]): Frames {
  const main = mainThread(events);
  const ofMain = events.filter(({ pid, tid }) => pid === main.pid && tid === main.tid).sort((a, b) => a.ts - b.ts);
  const apart: number[] = [];
  const work: number[] = [];
  let last: number | undefined;
  let worked = 0;
  for (const { name, ts, tdur } of ofMain) {
    if (name === "BeginMainThreadFrame") {
      if (last !== undefined) {
        apart.push((ts - last) / 1000);
        work.push(worked / 1000);
      }
      [last, worked] = [ts, 0];
    } else if (name === "ThreadControllerImpl::RunTask") worked += tdur ?? 0;
  }
  const rising = (a: number, b: number) => a - b;
  return { apart: apart.sort(rising), work: work.sort(rising) };
}

/** The main thread that draws the most frames: empty pages have one each too. */
function mainThread(events: Event[]): Event {
  const frames = events.filter(({ name }) => name === "BeginMainThreadFrame");
  const count = (of: Event) => frames.filter(({ pid, tid }) => pid === of.pid && tid === of.tid).length;
  const [most] = frames.toSorted((a, b) => count(b) - count(a));
  if (most === undefined) throw new Error("The trace has no frame in it.");
  return most;
}
