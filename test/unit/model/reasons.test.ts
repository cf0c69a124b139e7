import { describe, expect, it } from 'vitest';
import { refusedReply } from '../../../src/ingress/push/reply.ts';
import { Refused, refusalStatuses } from '../../../src/ingress/refused.ts';
import { explain, type Reason, reasons } from '../../../src/model/reasons.ts';

const codesOf = (of: Reason['of']): string[] =>
  reasons.filter((reason) => reason.of === of).map(({ code }) => code);

// Codes are labels of metrics, texts of replies and what operators search for: one that means two things misleads all of them.
describe('the table of reasons', () => {
  it('has each code once for each kind of thing', () => {
    const keys = reasons.map(({ of, code }) => `${of} ${code}`);
    expect(new Set(keys).size).toBe(keys.length);
  });

  it('has each code once, but for those that can cost a part or the whole', () => {
    const counts = Map.groupBy(reasons, ({ code }) => code);
    const shared = [...counts].filter(([, list]) => list.length > 1).map(([code]) => code);
    expect(shared.toSorted()).toEqual(['application_disabled', 'metric_columns_exceeded']);
  });

  it.each(reasons)(
    'has a meaning and a remedy for $code ($of)',
    ({ code, meaning, remedy, stage, fixableBy }) => {
      expect(code).toMatch(/^[a-z]+(_[a-z]+)*$/);
      expect(meaning.length).toBeGreaterThan(10);
      expect(remedy.length).toBeGreaterThan(5);
      expect(meaning).not.toMatch(/\.$/);
      expect(['receiver', 'transfer']).toContain(stage);
      expect(['sender', 'operator', 'tidemark']).toContain(fixableBy);
      expect(explain(code)?.code).toBe(code);
    },
  );

  it('is closed', () => {
    expect(explain('no_such_reason')).toBeUndefined();
    expect(explain('')).toBeUndefined();
  });

  it('leaves the check of time to transfer (specification 4.2), and everything else to the receiver', () => {
    const inTransfer = reasons.filter(({ stage }) => stage === 'transfer').map(({ code }) => code);
    expect(inTransfer.filter((code) => !/^timestamp_|^end_before_start$/.test(code))).toEqual([
      'data_source_purged',
      'purged_by_operator',
      'unreadable_message',
      'row_refused',
      'span_refused',
      'record_refused',
      'data_point_refused',
      'block_refused',
      'table_unavailable',
      'deferred_item_valid',
      'ledger_line_refused',
    ]);
    expect(codesOf('request').length).toBeGreaterThan(15);
  });
});

describe('a refusal of a receiver', () => {
  // The statuses that senders are promised, written down once more (architecture 4.2).
  const statuses: Record<number, string[]> = {
    400: [
      ...[
        'body_empty',
        'body_not_json',
        'body_not_object',
        'data_id_invalid',
        'data_missing',
        'data_not_array',
      ],
      ...['data_empty', 'unsupported_type', 'encoding_corrupt', 'protocol_error', 'aborted'],
      'credentials_differ',
      'body_malformed',
    ],
    401: ['unauthorized'],
    403: ['data_source_disabled', 'application_disabled'],
    404: ['path_unknown'],
    405: ['method_not_allowed'],
    413: [
      ...['body_too_large', 'too_many_points', 'too_many_elements', 'inflate_ratio_exceeded'],
      ...['too_many_spans', 'too_many_records', 'too_many_data_points', 'too_many_tokens'],
      'message_too_large',
    ],
    415: ['encoding_unsupported', 'content_type_unsupported'],
    429: ['rate_limited', 'too_many_failures'],
    500: ['internal'],
    503: ['not_stored', 'unconfirmed'],
  };

  it('has the promised status for every reason of a request', () => {
    const expected = Object.entries(statuses).flatMap(([status, codes]) =>
      codes.map((code) => [code, Number(status)]),
    );
    expect(refusalStatuses).toEqual(Object.fromEntries(expected));
    for (const code of Object.keys(refusalStatuses)) expect(codesOf('request')).toContain(code);
  });

  it.each(
    reasons.filter(
      ({ of, code }) => of === 'request' && code in refusalStatuses && code !== 'application_disabled',
    ),
  )('$code is the envelope with meaning, detail and remedy of its reason', ({ code, meaning, remedy }) => {
    const known = Object.entries(refusalStatuses).find(([reason]) => reason === code);
    const status = known?.[1];
    if (status === undefined) throw new Error(`no status for ${code}`);
    const reason = Object.keys(refusalStatuses).filter(
      (each): each is keyof typeof refusalStatuses => each === code,
    )[0];
    if (reason === undefined) throw new Error(`no reason ${code}`);
    const headers = { 'Retry-After': '1' };
    const { body, ...reply } = refusedReply(new Refused(reason, 'the detail', { headers }));
    expect(reply).toEqual({ status, contentType: 'application/json', headers });
    expect(JSON.parse(String(body))).toEqual({
      code: String(status),
      result: 'false',
      message: `${meaning}: the detail; ${remedy}`,
      reason,
    });
    expect(JSON.parse(String(refusedReply(new Refused(reason)).body)).message).toBe(`${meaning}; ${remedy}`);
  });

  // A success status here would make a sender forget items that were never accepted.
  it('is never a success', () => {
    for (const status of Object.values(refusalStatuses)) expect(status).toBeGreaterThanOrEqual(400);
  });
});
