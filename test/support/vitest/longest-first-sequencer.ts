import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** Small files that take half a minute and more, the longest first. */
const longest = [
  'faults/kill-points-worker',
  'contract/exporters',
  'engines/refresh-http',
  'contract/examples',
  'engines/operators',
  'contract/traces',
  'contract/push',
  'faults/kill-points-creation',
  'contract/identity',
  'engines/dlq-redrive',
  'faults/kill-points-ingress',
  'engines/up',
  'engines/metadata-records',
  'engines/outcomes-kills',
  'engines/table-trouble',
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
