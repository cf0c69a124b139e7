import { byPipeline, ownerColumns, type Pipeline, pipelines } from '../model/signals.ts';
import { cutTo, isSecretName, type Redaction, redacted } from './redaction.ts';
import type { SampleRow } from './rows.ts';
import { momentText } from './times.ts';

/** A sample of a dropped, refused or dead-lettered item as received: it is redacted and truncated here. */
export type Sample = {
  readonly pipeline: Pipeline;
  /** Data id or application; 0 without a valid credential. */
  readonly owner: number;
  readonly stage: 'receiver' | 'transfer';
  readonly reason: string;
  /** -1: the request or message as a whole. */
  readonly ordinal: number;
  readonly field: string;
  readonly value: unknown;
  readonly detail: string;
  /** Whether `detail` is text of this program alone: no word of it is a secret, even if it equals one. */
  readonly isOwnDetail?: boolean;
  /** A text, or a value that is written as JSON; undefined for nothing. */
  readonly payload: unknown;
  /** The id of the request; absent where several requests share a message. */
  readonly request?: string;
  readonly sender: string;
  readonly sdk: string;
  /** Credentials of the request, valid or not. */
  readonly secrets?: readonly string[];
};

/** Takes examples, few of each kind, and never more than a bound. */
export type Samples = {
  /**
   * Whether a sample is wanted now; each yes is one of the few of its minute, so call it only to add one. Cheap enough
   * to call for each dropped item.
   */
  wants(pipeline: Pipeline, owner: number, reason: string): boolean;
  /** Whether `add` keeps a sample now: false until the next `take` once the bound is reached. */
  hasRoom(): boolean;
  add(sample: Sample): void;
  /** The samples since the last call. */
  take(boot: number): SampleRow[];
};

export type SampleOptions = {
  readonly now: () => number;
  readonly redaction: Redaction;
  readonly onLost: (rows: number) => void;
};

/** Of one owner and reason in a minute, and of all of them together in a second, by this process. */
export const sampleLimits = {
  ofReasonPerMinute: 5,
  perSecond: 50,
  ownersPerMinute: 10_000,
  held: 500,
} as const;

/** Bytes of the texts of one row. */
export const sampleBytesMax = {
  payload: 1024,
  value: 256,
  detail: 1024,
  field: 256,
  sender: 64,
  sdk: 128,
} as const;

const minuteMs = 60_000;

const valueText = (value: unknown): string | undefined => {
  if (typeof value === 'string') return value;
  return value === undefined || typeof value === 'object' ? undefined : String(value);
};

// biome-ignore lint/complexity/noExcessiveLinesPerFunction: one bounded buffer, and what goes in and out of it.
export const createSamples = ({ now, redaction, onLost }: SampleOptions): Samples => {
  const counts = byPipeline(() => new Map<number, Map<string, number>>());
  let minute = -1;
  let second = -1;
  let inSecond = 0;
  let held: Omit<SampleRow, 'boot'>[] = [];
  let seq = 0;

  const hasRoom = (): boolean => held.length < sampleLimits.held;

  const beginPeriods = (): void => {
    const ms = now();
    const atMinute = Math.floor(ms / minuteMs);
    if (atMinute !== minute) {
      minute = atMinute;
      for (const pipeline of pipelines) counts[pipeline].clear();
    }
    const atSecond = Math.floor(ms / 1000);
    if (atSecond === second) return;
    second = atSecond;
    inSecond = 0;
  };

  const fieldOf = ({
    field,
    value,
    detail,
    isOwnDetail = false,
    secrets,
  }: Sample): Pick<SampleRow, 'field' | 'value' | 'detail'> => {
    const isSecret = isSecretName(field);
    const plain = valueText(value);
    const shown =
      plain === undefined
        ? value === undefined
          ? ''
          : redaction.json(value, sampleBytesMax.value, secrets)
        : redaction.text(plain, sampleBytesMax.value, secrets);
    return {
      field: redaction.text(field, sampleBytesMax.field, secrets),
      value: isSecret && typeof value !== 'number' && shown !== '' ? redacted : shown,
      detail: isOwnDetail
        ? cutTo(detail, sampleBytesMax.detail)
        : redaction.text(detail, sampleBytesMax.detail, secrets),
    };
  };

  const payloadOf = ({ payload, secrets }: Sample): string => {
    if (payload === undefined) return '';
    return typeof payload === 'string'
      ? redaction.text(payload, sampleBytesMax.payload, secrets)
      : redaction.json(payload, sampleBytesMax.payload, secrets);
  };

  return {
    wants: (pipeline, owner, reason) => {
      beginPeriods();
      if (inSecond >= sampleLimits.perSecond) return false;
      const owners = counts[pipeline];
      let ofOwner = owners.get(owner);
      if (ofOwner === undefined) {
        if (owners.size >= sampleLimits.ownersPerMinute) return false;
        ofOwner = new Map();
        owners.set(owner, ofOwner);
      }
      const taken = ofOwner.get(reason) ?? 0;
      if (taken >= sampleLimits.ofReasonPerMinute) return false;
      ofOwner.set(reason, taken + 1);
      inSecond++;
      return true;
    },
    hasRoom,
    add: (sample) => {
      if (!hasRoom()) return onLost(1);
      const { pipeline, owner, stage, reason, ordinal, sender, sdk, secrets } = sample;
      held.push({
        at: momentText(now()),
        pipeline,
        ...ownerColumns(pipeline, owner),
        stage,
        reason,
        ordinal,
        ...fieldOf(sample),
        payload: payloadOf(sample),
        request: sample.request ?? '',
        sender: redaction.text(sender, sampleBytesMax.sender, secrets),
        sdk: redaction.name(sdk, sampleBytesMax.sdk, secrets),
        seq: seq++,
      });
    },
    take: (boot) => {
      if (held.length === 0) return [];
      const taken = held.map((row): SampleRow => ({ ...row, boot }));
      held = [];
      return taken;
    },
  };
};
