import type { Edit } from './edit.ts';

/** A way to break the promise of exactly once, and the test that must fail then. */
export type Sabotage = {
  readonly name: string;
  readonly edits: readonly Edit[];
  readonly project: 'unit' | 'engines' | 'operations' | 'kills';
  readonly file: string;
  /** A part of the names of the tests to run; ` > ` separates a group and its test. */
  readonly tests: string;
};

const worker = 'test/faults/kill-points-worker.test.ts';

/** Each removes one thing that the promise rests on (docs/exactly-once.md), and nothing else. */
export const sabotages: readonly Sabotage[] = [
  {
    name: 'ack before write',
    edits: [
      {
        file: 'src/transfer/worker.ts',
        from: 'if (message !== undefined) held.add(message);',
        to: 'if (message !== undefined) held.add(message);\n    if (message !== undefined) delivery.ack();',
      },
    ],
    project: 'kills',
    file: worker,
    tests: 'transfer killed with points > after delivery',
  },
  {
    name: 'outcome after ack',
    edits: [
      {
        file: 'src/transfer/settle.ts',
        from: 'const isRecorded = await outcomes.record(settled.flatMap(({ lines }) => lines));\n      if (isRecorded) acknowledge(settled);\n      else for',
        to: 'acknowledge(settled);\n      const isRecorded = await outcomes.record(settled.flatMap(({ lines }) => lines));\n      if (!isRecorded) for',
      },
    ],
    project: 'kills',
    file: worker,
    tests: 'transfer killed with points > after database success',
  },
  {
    name: 'settlement skipped',
    edits: [
      {
        file: 'src/transfer/settle.ts',
        from: 'await outcomes.record(settled.flatMap(({ lines }) => lines));',
        to: 'await outcomes.record([]);',
      },
    ],
    project: 'engines',
    file: 'test/engines/settling.test.ts',
    tests: 'a settled message > of two data ids has a line for each',
  },
  {
    name: 'ack without writing',
    edits: [
      {
        file: 'src/stores/questdb/writer.ts',
        from: '      let status: number;\n',
        to: "      if (pieces.length > 0) return { kind: 'stored' };\n      let status: number;\n",
      },
    ],
    project: 'operations',
    file: 'test/engines/store-account.test.ts',
    tests: 'the records beside the stores > name no row that is missing',
  },
  {
    name: 'row left out that the header counts',
    edits: [
      {
        file: 'src/transfer/points/write-batch.ts',
        from: 'await writer.write(pieces).catch(',
        // Without the last row of each piece, where it has several.
        to: 'await writer.write(pieces.map((rows) => rows.subarray(0, rows.lastIndexOf(10, -2) + 1 || rows.length))).catch(',
      },
    ],
    project: 'operations',
    file: 'test/engines/store-account.test.ts',
    tests: 'the records beside the stores > name no row that is missing',
  },
  {
    name: 'guard off',
    edits: [
      {
        file: 'src/transfer/blocks/blocks-sink.ts',
        from: '(isSuspect(message) ? suspects : fresh).push(message)',
        to: 'fresh.push(message)',
      },
      // A process that has just started takes nothing for fresh until NATS has answered, which hides the first where it is slow.
      {
        file: 'src/transfer/blocks/blocks-sink.ts',
        from: '    if (fresh.length > 0 && !(await fence.holds())) suspects.push(...fresh.splice(0));\n',
        to: '',
      },
      // The fence is asked once more before each insert.
      {
        file: 'src/transfer/blocks/piece-inserts.ts',
        from: '    if (pieces.some(isOverdue) || !areFresh(fence, pieces)) return guarded(pieces);\n',
        to: '',
      },
    ],
    project: 'kills',
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
        file: 'src/stores/questdb/table-states.ts',
        from: 'isSuspended, deduplicates, why:',
        to: 'isSuspended, deduplicates: true, why:',
      },
      {
        file: 'src/stores/questdb/upsert-keys.ts',
        from: "columns !== undefined && columns.toSorted().join() !== 'timestamp,uid'",
        to: 'columns !== undefined && columns.length > 2',
      },
    ],
    project: 'kills',
    file: worker,
    tests: 'transfer killed with points > between database success and outcome',
  },
  {
    name: 'publish without waiting for its PubAck',
    edits: [
      {
        file: 'src/bus/publisher.ts',
        from: 'if (awaySince === undefined) send(token, entry, now);',
        to: 'if (awaySince === undefined) send(token, entry, now);\n        resolve({ duplicate: false, wasKnown: false, tries: 1, sequence: 0 });',
      },
    ],
    project: 'kills',
    file: 'test/faults/kill-points.test.ts',
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
        from: 'messageId, version, serial, traceparent };',
        to: 'messageId: messageId + Math.random(), version, serial, traceparent };',
      },
    ],
    project: 'kills',
    file: 'test/faults/kill-points.test.ts',
    tests: 'ingress killed with a request of spans > after PubAck',
  },
  {
    name: 'a receiver that books items twice',
    edits: [
      {
        file: 'src/outcomes/book-minute.ts',
        from: '  line.items += items;',
        to: '  line.items += 2 * items;',
      },
    ],
    project: 'engines',
    file: 'test/engines/publishers-book.test.ts',
    tests: 'LEDGER holds, by owner and minute, exactly what was acknowledged',
  },
  {
    name: 'a repeat that the receiver books again',
    edits: [
      {
        file: 'src/ingress/booking.ts',
        from: 'if (duplicate) posting?.repeated();\n  else ',
        to: '',
      },
    ],
    project: 'engines',
    file: 'test/engines/publishers-book.test.ts',
    tests: 'LEDGER holds, by owner and minute, exactly what was acknowledged',
  },
  {
    name: 'the same epoch at every start',
    edits: [
      {
        file: 'src/directory/epoch.ts',
        from: 'const boot = Math.max(last + 1, epochNow(nowMs));',
        to: 'const boot = Math.max(last, epochNow(nowMs));',
      },
    ],
    project: 'engines',
    file: 'test/contract/identity.test.ts',
    tests: 'epochs',
  },
  {
    name: 'messages of a push without a key published one by one',
    edits: [
      {
        file: 'src/ingress/push/handler.ts',
        from: 'return publisher.publishAll(fragments, identity?.sha256Hex);',
        to: 'return Promise.all(fragments.map((each) => publisher.share(each))).then(() => false);',
      },
    ],
    project: 'engines',
    file: 'test/faults/whole-requests.test.ts',
    tests: 'that the stream has no room for',
  },
  {
    name: 'an id that is known taken for a batch that is stored',
    edits: [
      {
        file: 'src/bus/batch-publisher.ts',
        from: "case 'known':\n        this.complete(token, entry);",
        to: "case 'known':\n        this.settle(token, entry);\n        entry.resolve(messages.map((_, index) => index + 1));",
      },
    ],
    project: 'engines',
    file: 'test/engines/batch-publisher.test.ts',
    tests: 'a batch > of which a part is stored already',
  },
  {
    name: 'a verdict of today on a repeat',
    edits: [
      {
        file: 'src/ingress/push/handler.ts',
        from: 'return repeatReply;',
        to: 'return pointsReply(encoded, this.deps.links);',
      },
    ],
    project: 'engines',
    file: 'test/contract/identity.test.ts',
    tests: 'an Idempotency-Key > stands for the first try',
  },
  {
    name: 'a name for an export of which nothing is kept',
    edits: [
      {
        file: 'src/ingress/otlp/handler.ts',
        from: 'const name = encoded.accepted > 0 ? identity : undefined;',
        to: 'const name = identity;',
      },
    ],
    project: 'kills',
    file: 'test/faults/kill-points.test.ts',
    tests: 'an export of which nothing is kept',
  },
  {
    name: 'an identity that ends with its token',
    edits: [
      {
        file: 'src/directory/sources.ts',
        from: 'known.source_identity?.identity_credential',
        to: 'undefined',
      },
      {
        file: 'src/directory/applications.ts',
        from: 'identity?.identity_credential',
        to: 'undefined',
      },
    ],
    project: 'engines',
    file: 'test/contract/identity.test.ts',
    tests: 'two receivers > a token that is rotated > once leaves',
  },
  {
    name: 'one message for the spans of all credentials',
    edits: [
      {
        file: 'src/ingress/otlp/publish.ts',
        from: 'if (owners.length <= 1 || sha256Hex === undefined)',
        to: 'if (owners.length >= 0)',
      },
    ],
    project: 'kills',
    file: 'test/faults/kill-points.test.ts',
    tests: 'an export with several credentials > of which one was unknown',
  },
  {
    name: 'requests that wait behind a publish without a deadline of their own',
    edits: [
      {
        file: 'src/ingress/push/gathering.ts',
        from: "    expire(this.waiting, now, 'not_stored');\n",
        to: '',
      },
    ],
    project: 'unit',
    file: 'test/unit/ingress/push/publisher.test.ts',
    tests: 'a bus that does not answer',
  },
  {
    name: 'a lookup that waits for as long as NATS hangs',
    edits: [
      {
        file: 'src/directory/find-once.ts',
        from: 'fetchInTime(fetch).finally(',
        to: 'fetch().finally(',
      },
    ],
    project: 'engines',
    file: 'test/contract/hanging-bus.test.ts',
    tests: 'a push with an unknown token',
  },
  {
    name: 'ages by the wall clock',
    edits: [
      {
        file: 'src/transfer/held-messages.ts',
        from: 'aliveSince = elapsed()',
        to: 'aliveSince = Date.now()',
      },
      {
        file: 'src/transfer/read-delivery.ts',
        from: 'touchedAt: elapsed()',
        to: 'touchedAt: now()',
      },
    ],
    project: 'unit',
    file: 'test/unit/transfer/worker-gathering.test.ts',
    tests: 'a message that was held over half its ack wait',
  },
  {
    name: 'a late delivery taken for the only one',
    edits: [
      {
        file: 'src/bus/puller.ts',
        from: 'redelivered: isLate || deliveries > 1',
        to: 'redelivered: deliveries > 1',
      },
    ],
    project: 'unit',
    file: 'test/unit/bus/puller.test.ts',
    tests: 'later than its pull lasts',
  },
  {
    name: 'a merge that is owed and forgotten',
    edits: [
      {
        file: 'src/transfer/blocks/owed-merges.ts',
        from: 'const waitMs = isStarted ? takeOverMs : 0;',
        to: 'const waitMs = Number.POSITIVE_INFINITY;',
      },
    ],
    project: 'unit',
    file: 'test/unit/transfer/blocks/owed-merges.test.ts',
    tests: 'what a killed process owed',
  },
  {
    name: 'a fence that does not know its consumer',
    edits: [
      {
        file: 'src/transfer/blocks/fence.ts',
        from: 'if (now.created !== before.created || now.delivered < before.delivered) {',
        to: 'if (now.delivered < 0) {',
      },
    ],
    project: 'kills',
    file: worker,
    tests: 'a consumer that is deleted and created again by hand',
  },
  {
    name: 'a purge that replaces the record of a redrive',
    edits: [
      {
        file: 'src/dead-letters/admin.ts',
        from: 'if (known === undefined || wasPurged(known)) rows.push(row);',
        to: 'rows.push(row);',
      },
      // A record of the dead letter's own time would give way to that of its redrive.
      {
        file: 'src/dead-letters/admin.ts',
        from: 'recordOf(place, timeOf(letter), {',
        to: 'recordOf(place, Date.now(), {',
      },
    ],
    project: 'operations',
    file: 'test/engines/dlq-redrive.test.ts',
    tests: 'comes back with a copy of DEADLETTER',
  },
  {
    name: 'a data folder held by a process number alone',
    edits: [
      {
        file: 'src/embedded/lock.ts',
        from: "      if (!tryFlock(fd, 'exclusive')) return undefined;\n",
        to: '',
      },
    ],
    project: 'engines',
    file: 'test/engines/lock.test.ts',
    tests: 'holds for another PID and network namespace too',
  },
];
