import type { ApplicationSource } from '../../directory/applications.ts';
import { explain } from '../../model/reasons.ts';
import type { EncodedItems } from '../../wire/otlp/types.ts';
import type { Sender } from '../line.ts';
import type { RefusalRecorder } from '../refusal-recorder.ts';
import type { Refused } from '../refused.ts';
import { refusalMessage } from './refusal.ts';

/** The known facts of an export so far. */
export type OtlpSender = Sender & {
  /** The SDK that its resource names; empty until that was read. */
  sdk: string;
};

/** The application of a request that has only one. */
export const soleOwner = (applications: Iterable<ApplicationSource>): number => {
  const ids = new Set([...applications].map(({ appId }) => appId));
  const [first = 0] = ids;
  return ids.size === 1 ? first : 0;
};

const withoutQuotes = (text: string): string =>
  text.slice(text.startsWith('"') ? 1 : 0, text.endsWith('"') && text.length > 1 ? -1 : undefined);

/** Records the samples of the encoder. Items with a failed time are dropped in transfer. */
export const sampleItems = (
  recorder: RefusalRecorder,
  sender: OtlpSender,
  { samples, sdk }: EncodedItems,
): void => {
  for (const { appId, index, reason, field, detail, got, item } of samples) {
    recorder.sample(sender, appId, sdk, {
      reason,
      stage: explain(reason)?.stage ?? 'receiver',
      ordinal: index,
      field,
      value: got === '' ? undefined : withoutQuotes(got),
      detail,
      payload: item,
      secrets: sender.secrets,
    });
  }
};

/** Records a sample of a refused request, without its body: the body has no owner or was not read. */
export const sampleRefusedOtlp = (recorder: RefusalRecorder, sender: OtlpSender, refused: Refused): void => {
  const { request, owner, sdk, secrets } = sender;
  const { reason, field } = refused;
  if (!recorder.wantsRefused(request, owner, reason, 0)) return;
  recorder.sample(sender, owner, sdk, {
    reason,
    ordinal: -1,
    field: field === 'body' ? '' : field,
    value: undefined,
    detail: refusalMessage(refused),
    // The detail of `unauthorized` is names of headers.
    isOwnDetail: refused.detail === '' || reason === 'unauthorized',
    payload: undefined,
    secrets,
  });
};

/**
 * Records the items that a request lost and those without a valid owner; `disabledOwner` is its only disabled application, else 0.
 */
export const recordItems = (
  recorder: RefusalRecorder,
  encoded: EncodedItems,
  disabledOwner: number,
): void => {
  for (const { appId, cutValues, eventsDropped, linksDropped } of encoded.lost) {
    recorder.lost('value_cut', appId, cutValues);
    recorder.lost('event_time_invalid', appId, eventsDropped);
    recorder.lost('link_id_invalid', appId, linksDropped);
  }
  for (const [reason, owner] of [
    ['token_invalid', 0],
    ['application_disabled', disabledOwner],
  ] as const) {
    const items = encoded.rejected.get(reason) ?? 0;
    if (items > 0) recorder.refusedItems(new Map([[reason, items]]), owner, 0);
  }
};
