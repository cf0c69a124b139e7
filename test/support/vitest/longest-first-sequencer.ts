import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Small files that take half a minute and more, the longest first. */
const longest = [
  'faults/kill-points',
  'engines/pages',
  'faults/kill-points-worker',
  'engines/table-trouble',
  'engines/account',
  'contract/examples',
  'engines/refresh-http',
  'engines/operators',
  'engines/settling',
  'engines/explore',
  'contract/exporters',
  'engines/up',
  'engines/set-aside',
  'engines/clickhouse-confined',
  'contract/identity',
  'engines/audit',
  'engines/dlq-redrive',
  'engines/dlq-outcomes',
  'engines/publishers-book',
  'faults/whole-requests',
  'contract/push',
  'contract/own-spans',
  'engines/metadata-fuzz',
  'engines/drops-read',
  'engines/up-access',
  'contract/otlp-matrix',
  'engines/metadata-records',
  'engines/metadata-outages',
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
