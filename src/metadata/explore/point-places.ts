import { Fault } from '../../model/fault.ts';
import { FieldFault } from '../problem.ts';
import type { Period } from './period.ts';
import { anyMemberSql, anyMoreSql, type Place } from './point-sql.ts';
import type { PointTable } from './point-table.ts';

/** A permanent Fault `not_stored_yet`. */
export const notStored = (what: string): Fault =>
  new Fault('permanent', 'not_stored_yet', `nothing is stored there yet: QuestDB has no ${what}`);

/** The table of a query. `stored`: its columns, lower case; `rows` runs a statement. */
type Source = {
  readonly table: PointTable;
  readonly period: Period;
  readonly stored: ReadonlySet<string>;
  readonly rows: (sql: string) => Promise<readonly unknown[][]>;
};

/** Those of these dimensions that points of the period have in more_dimensions. The records know only what has no column now. */
const membersInUse = async (
  { table: { tableId: table }, period, stored, rows }: Source,
  places: readonly Place[],
): Promise<ReadonlySet<string>> => {
  const found = new Set<string>();
  const hasAny = async (sql: string): Promise<boolean> => (await rows(sql)).length > 0;
  const isAsked = places.some(({ member }) => member !== undefined);
  // Most tables have none, and this costs 2 ns a row; each member costs up to 30 ns a row that lacks the column.
  if (!isAsked || !stored.has('more_dimensions') || !(await hasAny(anyMoreSql({ table, period }))))
    return found;
  for (const { column, member } of places) {
    if (member === undefined || found.has(member)) continue;
    const other = column !== undefined && stored.has(column.toLowerCase()) ? column : undefined;
    if (await hasAny(anyMemberSql({ table, period }, member, other))) found.add(member);
  }
  return found;
};

/**
 * Where points of the period have these dimensions, of all places where they may: in a column alone a query is fastest. The function
 * throws permanent Faults for a dimension that is nowhere: `not_stored_yet` where it has a column, else `unknown_name`.
 */
export const findPlaces = async (
  source: Source,
  places: readonly Place[],
): Promise<(place: Place, field: string) => Place> => {
  const members = await membersInUse(source, places);
  const { table, stored } = source;
  return ({ column, member: name }, field) => {
    const member = name !== undefined && members.has(name) ? name : undefined;
    if (column !== undefined && stored.has(column.toLowerCase())) return { column, member };
    if (member !== undefined) return { member };
    if (column !== undefined) throw notStored(`column ${column} in table ${table.tableId}`);
    const what = `dimension ${JSON.stringify(name)}, and no point of the period has it in more_dimensions`;
    throw new FieldFault('unknown_name', field, `table ${table.tableId} has no ${what}`);
  };
};
