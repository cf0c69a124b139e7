import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Small files that take half a minute and more, the longest first. */
const longest = [
  'faults/kill-points',
  'operations/pages',
  'faults/kill-points-worker',
  'engines/held-back',
  'engines/table-trouble',
  'engines/account',
  'contract/examples',
  'operations/refresh-http',
  'operations/operators',
  'engines/settling',
  'operations/explore',
  'contract/exporters',
  'operations/up',
  'engines/set-aside',
  'faults/exact',
  'faults/ctrl-c',
  'engines/clickhouse-ways-out',
  'contract/identity',
  'operations/audit',
  'engines/dlq-redrive',
  'engines/dlq-outcomes',
  'engines/publishers-book',
  'faults/whole-requests',
  'contract/push',
  'contract/own-spans',
  'operations/metadata-fuzz',
  'operations/drops-read',
  'operations/up-access',
  'contract/otlp-matrix',
  'operations/metadata-records',
  'operations/metadata-outages',
];

const rankOf = ({ moduleId }: TestSpecification): number => {
  const rank = longest.findIndex((name) => moduleId.endsWith(`/test/${name}.test.ts`));
  return rank < 0 ? longest.length : rank;
};

/** Without the durations of an earlier run vitest begins with the largest files, and would end on these, one worker each. */
export default class LongestFirstSequencer extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return (await super.sort(files)).toSorted((left, right) => rankOf(left) - rankOf(right));
  }
}
