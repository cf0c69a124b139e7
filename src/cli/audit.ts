import type { Command } from 'commander';
import { z } from 'zod';
import { authorOf } from '../metadata/api/contract.ts';
import { printList } from './list.ts';
import { addPageOptions, type PageOptions } from './options.ts';
import { nothing, shortened, timeText } from './output.ts';

const changeSchema = z.object({
  kind: z.string(),
  id: z.string().nullable(),
  before: z.unknown(),
  after: z.unknown(),
});
const entrySchema = z.object({
  at: z.number(),
  actor: z.object({ name: z.string() }),
  operator: z.string().nullable(),
  action: z.string(),
  target: z.object({ kind: z.string(), id: z.string().nullable() }),
  outcome: z.string(),
  code: z.string().optional(),
  changes: z.array(changeSchema),
  changes_cut: z.int().optional(),
});

type Entry = z.output<typeof entrySchema>;

const fieldsOf = (value: unknown): string[] =>
  typeof value === 'object' && value !== null ? Object.keys(value) : [];

const isAuthorship = (field: string): boolean => field.startsWith('last_modify_');

/** The changed fields of a record, or that it is new. */
const changeText = ({ kind, before, after }: Entry['changes'][number]): string => {
  if (before === null) return `${kind}: new`;
  const changed = fieldsOf(after).filter((field) => !isAuthorship(field));
  return changed.length === 0 ? '' : `${kind}: ${changed.join(', ')}`;
};

/** How many of each kind are gone; of an act on dead letters also that none was. */
const removedTexts = ({ changes, changes_cut: cut = 0, target, outcome }: Entry): string[] => {
  const removed = Map.groupBy(
    changes.filter(({ before, after }) => before !== null && after === null),
    ({ kind }) => kind,
  );
  if (removed.size === 0 && target.kind === 'dead_letter' && outcome === 'done') return ['none'];
  const further = cut === 0 ? [] : [`${cut} more changes`];
  return [...[...removed].map(([kind, gone]) => `${kind}: ${gone.length} removed`), ...further];
};

const row = (entry: Entry): string[] => {
  const { actor, operator, target, outcome, code } = entry;
  const changes = [...entry.changes.map(changeText), ...removedTexts(entry)].filter((text) => text !== '');
  return [
    timeText(entry.at),
    authorOf(operator ?? undefined, actor.name),
    entry.action,
    `${target.kind} ${target.id ?? nothing}`,
    code === undefined ? outcome : `${outcome}: ${code}`,
    shortened(changes.join('; '), 100),
  ];
};

type AuditOptions = PageOptions & { action?: string; actor?: string; kind?: string; id?: string };

const list = ({ action, actor, kind, id, ...options }: AuditOptions): Promise<void> =>
  printList(options, {
    path: '/api/v1/audit',
    query: { action, actor, target_kind: kind, target_id: id },
    item: entrySchema,
    head: ['TIME', 'WHO', 'ACTION', 'TARGET', 'OUTCOME', 'CHANGED'],
    row,
  });

/** `tidemark audit`. */
export const register = (program: Command): void => {
  const audit = program
    .command('audit')
    .description('list changes with time and actor, newest first')
    .option('--action <action>', 'only this action, such as custom_report.disable')
    .option('--actor <name>', 'only this actor: name or id of an admin token')
    .option(
      '--kind <kind>',
      'only this kind: report, data_source, group, table, application, source_policy, application_policy, ' +
        'admin_token, console_session, records, refresh_run, dead_letter, consumer, account',
    )
    .option('--id <id>', 'only this id: custom_report_id for a report, table_id for a table');
  addPageOptions(audit).action(list);
};
