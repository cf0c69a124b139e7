import type { Stack } from '../test/support/stack/stack.ts';
import { lineRow, withStack } from './line.ts';
import { pointLoads, secondsOf } from './point-loads.ts';
import { type MeasureOptions, measureRate, type Subject } from './rate.ts';
import type { Row } from './report.ts';
import { type SpanLoad, spanLoads, spanRequests, usualSpans } from './span-loads.ts';
import { otlpSubject, pushSubject } from './subjects.ts';

const warmSeconds = 2;
/** The guard that follows a start has ended by then. */
const guardSeconds = 12;

/** Spans of this load, of a new application. */
export const spanSubject = async (stack: Stack, name: string, load: SpanLoad): Promise<Subject> => {
  const { spans, connections } = load;
  const subject = await otlpSubject(stack, name, 'traces', 'protobuf', spans, connections);
  let salt = 0;
  return {
    ...subject,
    load: () => {
      const { urls, headers } = subject.load();
      const requests = spanRequests(load, 1_000 * salt++);
      return { ...requests, urls, headers: { ...headers, ...requests.headers } };
    },
  };
};

const matching = <Shape>(loads: Readonly<Record<string, Shape>>, wanted: string): [string, Shape][] =>
  Object.entries(loads).filter(([name]) => new RegExp(wanted, 'i').test(name));

/** The row of each load whose name matches (all: an empty text), one after the other on a stack for each signal. */
export const measureLoads = async (
  options: MeasureOptions & { readonly wanted: string },
): Promise<{ readonly points: readonly Row[]; readonly spans: readonly Row[] }> => {
  const points: Row[] = [];
  const spans: Row[] = [];
  const wantedPoints = matching(pointLoads, options.wanted);
  const wantedSpans = matching(spanLoads, options.wanted);
  if (wantedPoints.length > 0)
    await withStack(options, async (stack) => {
      for (const [index, [name, load]] of wantedPoints.entries()) {
        const subject = await pushSubject(stack, `load_${index}`, load);
        points.push(
          lineRow(name, [await measureRate(subject, secondsOf(load, options.seconds), warmSeconds)]),
        );
      }
    });
  if (wantedSpans.length > 0)
    await withStack(
      options,
      async (stack) => {
        await measureRate(await spanSubject(stack, 'load_guarded', usualSpans), guardSeconds, 0);
        for (const [index, [name, load]] of wantedSpans.entries()) {
          const subject = await spanSubject(stack, `load_${index}`, load);
          spans.push(lineRow(name, [await measureRate(subject, options.seconds, warmSeconds)]));
        }
      },
      false,
    );
  return { points, spans };
};
