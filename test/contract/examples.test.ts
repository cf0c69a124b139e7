import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { checkAnswer, checkStored } from '../support/examples/checks.ts';
import { pipelineOf, readCases } from '../support/examples/examples.ts';
import { type RanExamples, runExamples, storedOf, summed } from '../support/examples/runner.ts';

// The cases are data: schemas/examples/*/*.yaml, which docs/receivers is written from as well.
const receivers = ['push', 'traces', 'logs', 'metrics'] as const;
const cases = {
  push: readCases('push'),
  traces: readCases('traces'),
  logs: readCases('logs'),
  metrics: readCases('metrics'),
};
const otlpCases = [...cases.traces, ...cases.logs, ...cases.metrics];
const all = receivers.flatMap((receiver) => cases[receiver]);

let ran: RanExamples;
beforeAll(async () => {
  ran = await runExamples(all);
});
afterAll(() => ran?.stop());

describe.each(receivers)('%s', (receiver) => {
  const byTopic = Object.entries(Object.groupBy(cases[receiver], ({ topic }) => topic));

  describe.each(byTopic)('%s', (_, examples = []) => {
    it.each(examples.map((example) => [example.name, example] as const))('%s', async (_name, example) => {
      const result = ran.resultOf(example);
      for (const answered of result.answers) checkAnswer(example, answered);
      for (const stored of Object.entries(example.stored))
        await checkStored(example, result, ran.stack, stored);
    });
  });

  // Architecture 6.1: in = kept + dropped by reason, and transfer drops a deferred item for the reason in the warning
  // to its sender.
  describe('of all cases together', () => {
    const pipeline = pipelineOf[receiver];

    it.each([
      ['dropped', 'tidemark_ingress_items_dropped_total'],
      ['deferred', 'tidemark_ingress_items_deferred_total'],
      ['values_dropped', 'tidemark_ingress_values_dropped_total'],
    ] as const)('the receiver counted the %s items by reason', (of, name) => {
      expect(ran.grown('ingress', name, { pipeline }, 'reason')).toEqual(summed(cases[receiver], of));
    });

    it('the receiver counted the accepted items, and the repeats among them', () => {
      const total = (of: 'accepted' | 'repeats'): number =>
        cases[receiver].reduce((sum, { outcome }) => sum + Number(outcome[of] ?? 0), 0);
      expect([
        ran.grown('ingress', 'tidemark_ingress_items_accepted_total', { pipeline })['all'] ?? 0,
        ran.grown('ingress', 'tidemark_ingress_duplicate_requests_total', { pipeline })['all'] ?? 0,
      ]).toEqual([total('accepted'), total('repeats')]);
    });

    it('transfer stored the accepted items except repeats', () => {
      const stored = ran.grown('transfer', 'tidemark_transfer_items_stored_total', { pipeline })['all'] ?? 0;
      expect(stored).toBe(cases[receiver].reduce((sum, { outcome }) => sum + storedOf(outcome), 0));
    });

    it('transfer dropped the deferred items, for the same reasons, and dead-lettered nothing', () => {
      const dropped = ran.grown('transfer', 'tidemark_transfer_items_dropped_total', { pipeline }, 'reason');
      expect(dropped).toEqual(summed(cases[receiver], 'deferred'));
      expect(ran.grown('transfer', 'tidemark_transfer_dead_letters_total', { pipeline })).toEqual({});
    });
  });
});

// The receivers are counted by transport: traces, logs and metrics come by the same.
describe('of all cases together', () => {
  it.each([
    ['push', cases.push],
    ['otlp', otlpCases],
  ] as const)('the receiver %s counted the refused requests by reason', (receiver, of) => {
    const name = 'tidemark_ingress_requests_refused_total';
    expect(ran.grown('ingress', name, { receiver }, 'reason')).toEqual(summed(of, 'refused'));
  });

  // Architecture 4.6: operators see which sender is off the specification.
  it('the receiver counted its leniencies by kind', () => {
    const counted = ran.grown('ingress', 'tidemark_ingress_otlp_leniencies_total', {}, 'kind');
    expect(counted).toEqual(summed(otlpCases, 'leniencies'));
  });
});

describe('after all this', () => {
  it('no answer reports an internal error', () => {
    const errors = ran.stack.ingress.flatMap(({ lines }) =>
      lines.filter((line) => line.includes('"level":50')),
    );
    expect(errors).toEqual([]);
  });

  // Replies end in logs of senders, and many people can read logs: a token in either is disclosed.
  it('no reply and no line of any log holds a token', () => {
    const { ingress, transfer, metadata } = ran.stack;
    const lines = [...ingress, ...transfer, metadata].flatMap((role) => role.lines).join('\n');
    for (const example of all) {
      const { sources, answers } = ran.resultOf(example);
      for (const { token } of Object.values(sources)) {
        expect(lines.includes(token), `the token of "${example.name}" in a log`).toBe(false);
        for (const { answer } of answers) {
          expect(answer.text + JSON.stringify(answer.headers)).not.toContain(token);
        }
      }
    }
  });
});
