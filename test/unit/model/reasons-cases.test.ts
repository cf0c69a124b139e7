import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { reasons } from '../../../src/model/reasons.ts';
import { readCases } from '../../support/examples/examples.ts';

const root = join(import.meta.dirname, '../../..');

/** Codes that a request alone cannot produce: they take a fault, a purge, two versions or thousands of inserts. With the test that does. */
const elsewhere: Readonly<Record<string, string>> = {
  not_stored: 'test/contract/push-admission.test.ts',
  unconfirmed: 'test/contract/push-admission.test.ts',
  aborted: 'test/contract/push/points.ts',
  too_many_failures: 'test/contract/hostile-bodies.test.ts',
  message_too_large: 'test/unit/ingress/too-large-messages.test.ts',
  data_source_purged: 'test/engines/transfer/purge.ts',
  unreadable_message: 'test/engines/transfer/messages.ts',
  row_refused: 'test/engines/transfer/messages.ts',
  span_refused: 'test/engines/poison.test.ts',
  record_refused: 'test/unit/transfer/blocks/logs.test.ts',
  data_point_refused: 'test/unit/transfer/blocks/data-points.test.ts',
  data_point_not_object: 'test/unit/rules/data-points/data-points.test.ts',
  metric_name_missing: 'test/unit/rules/data-points/data-points.test.ts',
  data_point_field_invalid: 'test/unit/rules/data-points/data-points.test.ts',
  too_many_buckets: 'test/unit/rules/data-points/data-points.test.ts',
  too_many_exemplars: 'test/unit/rules/data-points/data-points.test.ts',
  too_many_series: 'test/unit/rules/data-points/data-points.test.ts',
  too_many_data_points: 'test/unit/rules/data-points/data-points.test.ts',
  block_refused: 'test/unit/transfer/blocks/blocks-sink.test.ts',
  too_many_days: 'test/unit/fuzz/amplification.test.ts',
  table_unavailable: 'test/engines/set-aside.test.ts',
  purged_by_operator: 'test/engines/dlq-redrive.test.ts',
  deferred_item_valid: 'test/unit/transfer/points/points-sink.test.ts',
  ledger_line_refused: 'test/engines/settling/ledger.ts',
};

/** Only a defect of Tidemark yields these: test/contract/examples.test.ts asserts that no case met one. */
const defects = ['internal'];

const cases = [...readCases('push'), ...readCases('traces'), ...readCases('logs'), ...readCases('metrics')];

/** `of code` of everything that the cases produce. */
const produced = new Set(
  cases.flatMap(({ outcome }) => [
    ...Object.keys({ ...outcome.dropped, ...outcome.deferred }).map((code) => `item ${code}`),
    ...Object.keys(outcome.values_dropped ?? {}).map((code) => `value ${code}`),
    ...Object.keys(outcome.refused ?? {}).map((code) => `request ${code}`),
    ...(outcome.repeats === undefined ? [] : ['request duplicate_request']),
  ]),
);

// A code without a case is an untested promise; a code outside the table is a label without an explanation.
describe('the closed table of reasons', () => {
  it.each(
    reasons
      .filter(({ code }) => !(code in elsewhere) && !defects.includes(code))
      .map(({ of, code }) => [of, code]),
  )('has a case that produces %s %s', (of, code) => {
    expect(produced).toContain(`${of} ${code}`);
  });

  it('holds every code that a case produces', () => {
    const known = new Set(reasons.map(({ of, code }) => `${of} ${code}`));
    expect([...produced].filter((each) => !known.has(each))).toEqual([]);
  });

  it.each(Object.entries(elsewhere))('has %s produced in %s', (code, file) => {
    expect(existsSync(join(root, file))).toBe(true);
    expect(readFileSync(join(root, file), 'utf8')).toContain(code);
  });
});
