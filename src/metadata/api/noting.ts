import type { RecordSet, Records } from '../records/store.ts';

/** Receives every record that is written. `before` is undefined for a new one. */
export type Note = (change: { kind: string; id: string; before: unknown; after: unknown }) => void;

const notingSet = <T>(set: RecordSet<T>, note: Note): RecordSet<T> => ({
  ...set,
  create: async (id, value) => {
    const created = await set.create(id, value);
    note({ kind: set.kind, id: String(id), before: undefined, after: created.value });
    return created;
  },
  update: async (id, value, revision) => {
    const before = (await set.get(id))?.value;
    const updated = await set.update(id, value, revision);
    note({ kind: set.kind, id: String(id), before, after: updated.value });
    return updated;
  },
  put: async (id, value) => {
    const before = (await set.get(id))?.value;
    const stored = await set.put(id, value);
    note({ kind: set.kind, id: String(id), before, after: stored.value });
    return stored;
  },
  change: async (id, edit, revision) => {
    const state: { before?: T } = {};
    const changed = await set.change(
      id,
      (current) => {
        state.before = current;
        return edit(current);
      },
      revision,
    );
    if (state.before !== changed.value) {
      note({ kind: set.kind, id: String(id), before: state.before, after: changed.value });
    }
    return changed;
  },
});

/** The same records; reports each write through them to `note`. */
export const notingRecords = (records: Records, note: Note): Records => ({
  ...records,
  reports: notingSet(records.reports, note),
  dataSources: notingSet(records.dataSources, note),
  groups: notingSet(records.groups, note),
  tables: notingSet(records.tables, note),
  placements: notingSet(records.placements, note),
  sourcePolicies: notingSet(records.sourcePolicies, note),
  previousTokens: notingSet(records.previousTokens, note),
  purges: notingSet(records.purges, note),
  applications: notingSet(records.applications, note),
  applicationPolicies: notingSet(records.applicationPolicies, note),
  previousApplicationTokens: notingSet(records.previousApplicationTokens, note),
});
