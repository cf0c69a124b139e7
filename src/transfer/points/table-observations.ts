import type { Unapplied } from '../../stores/questdb/applied.ts';
import type { FailureScope } from '../../stores/questdb/table-states.ts';
import type { TriedTables } from './write-tables.ts';

export type TableState =
  | 'ok'
  | 'proving'
  | 'late'
  | 'suspended'
  | 'failing'
  | 'missing'
  | 'unsafe'
  | 'broken';

/** Why a table takes no rows. `scope`: whether the reason lies in the table or in the store. */
export type Observation = {
  readonly state: Exclude<TableState, 'ok' | 'proving'>;
  readonly scope: FailureScope;
  readonly why: string;
};

/** Of several observations the last of these counts. */
const precedence: readonly TableState[] = ['late', 'suspended', 'failing', 'missing', 'unsafe', 'broken'];

export const joined = (...all: readonly ReadonlyMap<string, Observation>[]): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, each] of all.flatMap((some) => [...some])) {
    const known = observed.get(table);
    if (known === undefined || precedence.indexOf(each.state) >= precedence.indexOf(known.state))
      observed.set(table, each);
  }
  return observed;
};

export const ofApplied = ({ late, held, broken }: Unapplied): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, why] of late) observed.set(table, { state: 'late', scope: 'table', why });
  for (const [table, { why, scope }] of held) observed.set(table, { state: 'suspended', scope, why });
  for (const [table, why] of broken) observed.set(table, { state: 'broken', scope: 'table', why });
  return observed;
};

export const ofWrite = ({ failing, missingTables, brokenTables }: TriedTables): Map<string, Observation> => {
  const observed = new Map<string, Observation>();
  for (const [table, { why, scope }] of failing) observed.set(table, { state: 'failing', scope, why });
  for (const table of missingTables)
    observed.set(table, { state: 'missing', scope: 'table', why: 'the table does not exist' });
  for (const [table, why] of brokenTables) observed.set(table, { state: 'broken', scope: 'table', why });
  return observed;
};
