/** A place in a file of the sources, and what stands there instead. The text has to be there exactly once. */
export type Edit = { readonly file: string; readonly from: string; readonly to: string };

/** A way to break the promise of exactly once, and the test that has to fail of it. */
export type Sabotage = {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly project: 'unit' | 'engines';
  readonly file: string;
  /** What the names of the tests that are run hold; ` > ` stands between a group and its test. */
  readonly tests: string;
};

const worker = 'test/faults/kill-points-worker.test.ts';

/** Each takes away one thing that the promise rests on (docs/exactly-once.md), and nothing else. */
export const sabotages: readonly Sabotage[] = [
  {
    name: 'ack before write',
    edits: [
      {
        file: 'src/transfer/worker.ts',
        from: 'gathered.push({ delivery, ',
        to: 'delivery.ack();\n    gathered.push({ delivery, ',
      },
    ],
    project: 'engines',
    file: worker,
    tests: 'transfer killed with points > after delivery',
  },
  {
    name: 'outcome after ack',
    edits: [
      {
        file: 'src/transfer/settle.ts',
        from: 'if (await record(rows)) acknowledge(settled);\n      else for',
        to: 'acknowledge(settled);\n      if (!(await record(rows))) for',
      },
    ],
    project: 'engines',
    file: worker,
    tests: 'transfer killed with points > after database success',
  },
  {
    name: 'guard off',
    edits: [
      {
        file: 'src/transfer/traces-lane.ts',
        from: '(isSuspect(message) ? suspects : fresh).push(message)',
        to: 'fresh.push(message)',
      },
    ],
    project: 'engines',
    file: worker,
    tests: 'transfer killed with spans > between database success and outcome',
  },
  {
    name: 'DEDUP off in QuestDB',
    edits: [
      { file: 'schemas/sql/questdb/wide.sql', from: 'WAL DEDUP UPSERT KEYS(timestamp, uid)', to: 'WAL' },
      // What would see it and mend it.
      { file: 'src/stores/questdb/tables.ts', from: 'if (dedup !== true)', to: 'if (dedup === undefined)' },
      {
        file: 'src/stores/questdb/tables.ts',
        from: "if (keys.toSorted().join() !== 'timestamp,uid')",
        to: 'if (keys.length > 2)',
      },
      {
        file: 'src/metadata/table-repair.ts',
        from: 'if (!state.deduplicates)',
        to: 'if (state.name === "")',
      },
    ],
    project: 'engines',
    file: worker,
    tests: 'transfer killed with points > between database success and outcome',
  },
  {
    name: 'publish without waiting for its PubAck',
    edits: [
      {
        file: 'src/bus/publisher.ts',
        from: 'if (awaySince === undefined) send(token, entry, now);',
        to: 'if (awaySince === undefined) send(token, entry, now);\n        resolve({ duplicate: false });',
      },
    ],
    project: 'engines',
    file: 'test/faults/kill-points-ingress.test.ts',
    tests: 'ingress killed with a request of spans > before publish',
  },
  {
    name: 'uid that differs from try to try',
    edits: [
      {
        file: 'src/ingress/identity.ts',
        from: 'base: hashedBase(digest)',
        to: 'base: hashedBase(createHash("sha256").update(String(Math.random())).digest())',
      },
    ],
    project: 'engines',
    file: 'test/contract/identity.test.ts',
    tests: 'guard: suspect > of points with their key changes nothing',
  },
  {
    name: 'message id that differs from try to try',
    edits: [
      {
        file: 'src/bus/publisher.ts',
        from: 'head.set(messageIdHeader, entry.messageId);',
        to: 'head.set(messageIdHeader, entry.messageId + Math.random());',
      },
    ],
    project: 'engines',
    file: 'test/faults/kill-points-ingress.test.ts',
    tests: 'ingress killed with a request of spans > after PubAck',
  },
  {
    name: 'the same boot number at every start',
    edits: [
      {
        file: 'src/directory/boot-number.ts',
        from: 'const boot = Math.max(last + 1, minutes);',
        to: 'const boot = Math.max(last, minutes);',
      },
    ],
    project: 'engines',
    file: 'test/contract/identity.test.ts',
    tests: 'boot numbers',
  },
];
