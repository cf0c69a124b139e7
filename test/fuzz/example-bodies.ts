import { type Encoding, type Receiver, readCases } from '../support/examples/examples.ts';
import { bodyBytes } from '../support/examples/requests.ts';
import type { Lookup } from '../support/examples/values.ts';
import type { Random } from '../support/otlp/plain/mutations.ts';
import { arrivedAt } from '../support/push/source.ts';

const bytesMax = 16 * 1024;

const values: Readonly<Record<string, unknown>> = {
  now: arrivedAt,
  now_s: Math.floor(arrivedAt / 1000),
  now_us: arrivedAt * 1e3,
  now_ns: arrivedAt * 1e6,
  nanos: `${arrivedAt}000000`,
  seconds_and_nine_zeros: `${Math.floor(arrivedAt / 1000)}000000000`,
  whole_second: Math.floor(arrivedAt / 1000) * 1000,
  absent: undefined,
  data_id: 1_500_001,
  app_id: 12,
  token: '0123456789abcdef0123456789abcdef',
  token_before: 'fedcba9876543210fedcba9876543210',
  table: '2_mon_time_series_1500001.__default__',
  table_prefix: '2_mon_time_series_1500001.',
};

const lookup: Lookup = (name) => {
  if (!(name in values)) throw new Error(`nothing is called $${name}`);
  return values[name];
};

/**
 * The bodies of the documented cases of a receiver, right and wrong ones, as a decoder gets them: without those that are large,
 * and without compression.
 */
export const exampleBodies = (receiver: Receiver, encoding: Encoding): Buffer[] =>
  readCases(receiver)
    .filter((example) => example.encoding === encoding)
    .flatMap(({ exchanges }) => exchanges)
    .flatMap(({ request }) => {
      if ((request.pad_to ?? 0) > bytesMax) return [];
      const { content_encoding: _, compress: __, damage: ___, ...plain } = request;
      const bytes = bodyBytes(receiver, plain, encoding, lookup);
      return bytes === undefined || bytes.length > bytesMax ? [] : [bytes];
    });

/** One of them. */
export const pickBody = (random: Random, bodies: readonly Buffer[], otherwise: Buffer): Buffer =>
  bodies[random(bodies.length)] ?? otherwise;
