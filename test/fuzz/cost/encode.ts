import type { IncomingMessage } from 'node:http';
import { largeBytes } from '../../../src/ingress/large-bodies/large-bodies.ts';
import { newSender } from '../../../src/ingress/line.ts';
import { outcomeMessage } from '../../../src/ingress/otlp/outcome-message.ts';
import { readerRefusal } from '../../../src/ingress/otlp/refusal.ts';
import { type OtlpSender, sampleItems, sampleRefusedOtlp } from '../../../src/ingress/otlp/samples.ts';
import { otlpSignals } from '../../../src/ingress/otlp/signals.ts';
import { type EncodedPush, encodePush, type PushTask } from '../../../src/ingress/push/encode.ts';
import { pointsReply } from '../../../src/ingress/push/reply.ts';
import { type PushSender, samplePoints, sampleRefusedPush } from '../../../src/ingress/push/samples.ts';
import type { RefusalRecorder } from '../../../src/ingress/refusal-recorder.ts';
import { Refused, refusalOf } from '../../../src/ingress/refused.ts';
import type { Layout } from '../../../src/model/records.ts';
import type { Pipeline } from '../../../src/model/signals.ts';
import { uidBase } from '../../../src/model/uid.ts';
import { createRedaction } from '../../../src/outcomes/redaction.ts';
import { createSamples } from '../../../src/outcomes/samples.ts';
import { encodedLength as pushLength } from '../../../src/rules/points/encoded-points.ts';
import { hasMoreElements } from '../../../src/wire/json-elements.ts';
import { type EncodedItems, encodedLength } from '../../../src/wire/otlp/types.ts';
import { contextWith } from '../../support/otlp/trace-source.ts';
import { sourceWith } from '../../support/push/source.ts';
import { arrivedAt, pushCredential } from './credentials.ts';
import { otlpLimits, pushLimits } from './limits.ts';
import { type OtlpTarget, otlpTargetOf } from './otlp-targets.ts';
import type { TargetName } from './recipe.ts';
import { requestOf } from './whose.ts';

// The work of a receiver on a body with a valid credential, up to its messages and its answer.

/** Runs one stretch of work that nothing else of its thread comes between. */
export type Hold = <T>(work: () => T) => T;

/** What came of a body: in a word, all that stays in memory until it is published, and about how long its messages are. */
export type Encoded = { readonly outcome: string; readonly kept: unknown; readonly encodedBytes: number };

const nothingOf = (outcome: string): Encoded => ({ outcome, kept: undefined, encodedBytes: 0 });

/** No sender waits for an answer here. */
const inTime = { deadlineAt: Number.POSITIVE_INFINITY };
const credentials = new Set<string>([pushCredential.token]);
const emptyBody = Buffer.alloc(0);

/** Takes examples as a receiver that has taken none for a minute: all of the few that are wanted. */
const accountOf = (pipeline: Pipeline): RefusalRecorder => {
  const samples = createSamples({
    now: Date.now,
    redaction: createRedaction((text) => credentials.has(text)),
    onLost: () => {},
  });
  return {
    refused: () => {},
    refusedConnection: () => {},
    refusedItems: () => {},
    repeated: () => {},
    lost: () => {},
    wantsRefused: () => true,
    wants: (owner, reason) => samples.wants(pipeline, owner, reason),
    sample: (_, owner, sdk, example) =>
      samples.add({ stage: 'receiver', ...example, pipeline, owner, sender: '192.0.2.9', sdk }),
  };
};

const knownNames = { metrics: ['cpu', 'mem', 'm0', 'm1', 'm2'], dimensions: ['module', 'host', 'd0', 'd1'] };

const tableFor = (layout: Layout, more?: EncodedPush['encoded']) => {
  const within = (names: readonly string[], further: ReadonlySet<string> = new Set(), most: number) =>
    [...names, ...further].slice(0, most);
  return sourceWith(
    layout,
    within(knownNames.metrics, more?.unknownMetrics, pushLimits.metricsMax),
    within(knownNames.dimensions, more?.unknownDimensions, pushLimits.dimensionsMax),
  );
};

const first = { wide: tableFor('wide'), narrow: tableFor('narrow') };

/** The calls of the receiver to the encoder, for a table with a few names. */
export const pushTask = (layout: Layout): PushTask => {
  const table = first[layout];
  return {
    pair: pushCredential,
    table,
    caps: pushLimits,
    policy: table.rules.time,
    arrivedAt,
    base: uidBase(1000n),
    isKeyed: false,
    namesAreFinal: false,
    pointsMax: pushLimits.pointsMax,
    elementsMax: pushLimits.elementsMax,
  };
};

const push = (bytes: Buffer, request: IncomingMessage, layout: Layout, hold: Hold): Encoded => {
  const account = accountOf('metrics');
  const sender: PushSender = {
    ...newSender(request),
    ...inTime,
    pair: pushCredential,
    owner: pushCredential.dataId,
    secrets: [pushCredential.token],
    bytes,
  };
  const task = pushTask(layout);
  let outcome = hold(() => encodePush(bytes, task));
  if (
    outcome.kind === 'encoded' &&
    outcome.encoded.unknownMetrics.size + outcome.encoded.unknownDimensions.size > 0
  ) {
    const table = tableFor(layout, outcome.encoded);
    outcome = hold(() => encodePush(bytes, { ...task, table, namesAreFinal: true }));
  }
  if (outcome.kind === 'refused') {
    const refused = new Refused(outcome.reason, outcome.detail);
    hold(() => sampleRefusedPush(account, sender, refused));
    return nothingOf(refused.reason);
  }
  const encoded = outcome;
  const reply = hold(() => {
    samplePoints(account, sender, encoded);
    return pointsReply(encoded.encoded);
  });
  const { accepted, dropped } = encoded.encoded;
  return {
    outcome: `${accepted > 0 ? 'kept' : ''} ${[...dropped.keys()].sort().join(' ')}`.trim(),
    kept: [encoded, reply],
    encodedBytes: pushLength(encoded.encoded),
  };
};

const readItems = (
  bytes: Buffer,
  { pipeline, encoding }: OtlpTarget,
  account: RefusalRecorder,
): EncodedItems | Refused => {
  const signal = otlpSignals[pipeline];
  const limits = otlpLimits(pipeline);
  try {
    if (encoding === 'json' && bytes.length > largeBytes && hasMoreElements(bytes, limits.elementsMax))
      return new Refused('too_many_elements', 'too many');
    return signal.readers[encoding].encode(bytes, contextWith({ limits, wantsSample: account.wants }));
  } catch (error) {
    return refusalOf(readerRefusal(signal, error, encoding, bytes));
  }
};

const items = (bytes: Buffer, request: IncomingMessage, target: OtlpTarget, hold: Hold): Encoded => {
  const account = accountOf(target.pipeline);
  const sender: OtlpSender = {
    ...newSender(request),
    ...inTime,
    owner: 12,
    sdk: '',
    secrets: [pushCredential.token],
  };
  const encoded = hold(() => readItems(bytes, target, account));
  if ('status' in encoded) {
    hold(() => sampleRefusedOtlp(account, sender, encoded));
    return nothingOf(encoded.reason);
  }
  const message = hold(() => {
    sampleItems(account, sender, encoded);
    return outcomeMessage(otlpSignals[target.pipeline], encoded);
  });
  const { accepted, rejected, deferred } = encoded;
  const outcome = [accepted > 0 ? 'kept' : '', ...[...rejected.keys(), ...deferred.keys()].sort()].join(' ');
  return { outcome: outcome.trim(), kept: [encoded, message], encodedBytes: encodedLength(encoded) };
};

/** Encodes a body; each stretch that holds the event loop is one call of `hold`. */
export const encode = (bytes: Buffer, target: TargetName, layout: Layout, hold: Hold): Encoded => {
  const request = requestOf(emptyBody, 'identity');
  if (target === 'push') return push(bytes, request, layout, hold);
  const otlp = otlpTargetOf(target);
  return otlp === undefined ? nothingOf('unpacked') : items(bytes, request, otlp, hold);
};
