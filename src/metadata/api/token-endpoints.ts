import type { PreviousToken } from '../../directory/records.ts';
import { Fault } from '../../model/fault.ts';
import { nowSeconds } from '../../model/time.ts';
import { actionRequestSchema, rotationRequestSchema } from '../records/requests.ts';
import { existing, type RecordSet, type Records, recordText } from '../records/store.ts';
import { rotateApplicationToken, rotateDataSourceToken } from '../reports/rotation.ts';
import { revealedToken, rotatedToken } from './contract.ts';
import { type Endpoint, endpoint } from './endpoint.ts';
import { idParams } from './params.ts';

type Tokened = {
  readonly path: string;
  /** Whose ETag it is, where the path names another record. */
  readonly etagNote?: string;
  readonly tag: string;
  /** The kind of the record with the token, in the audit. */
  readonly kind: 'data_source' | 'application';
  /** From the id in the path to the id of the record. */
  readonly recordId: (records: Records, id: number) => Promise<number>;
  readonly setOf: (records: Records) => RecordSet<{ token: string }>;
  readonly previousOf: (records: Records) => RecordSet<PreviousToken>;
  readonly rotate: typeof rotateDataSourceToken | typeof rotateApplicationToken;
};

const tokenEndpoints = ({
  etagNote = '',
  path,
  tag,
  kind,
  recordId,
  setOf,
  previousOf,
  rotate,
}: Tokened): Endpoint[] => [
  endpoint({
    method: 'POST',
    path: `${path}/{id}/rotate-token`,
    tag,
    summary: `Issues a new token; the previous token stays valid for overlap_seconds${etagNote}`,
    role: 'editor',
    needsProof: true,
    params: idParams,
    body: rotationRequestSchema,
    answer: rotatedToken,
    revisionOf: async ({ id }, records) => {
      const of = await recordId(records, id);
      const { revision } = await existing(setOf(records), of);
      return { revision, what: recordText(setOf(records), of) };
    },
    audit: async ({ id }, _, records) => ({
      action: `${kind}.rotate_token`,
      kind,
      id: String(await recordId(records, id)),
    }),
    run: async ({ params, body, revision, author, records }) => {
      const id = await recordId(records, params.id);
      const by = { operator: author, revision };
      const rotated = await rotate(records, id, body.overlap_seconds, by);
      return {
        body: { token: rotated.value.token, previous_expires_at: rotated.previousExpiresAt },
        revision: rotated.revision,
      };
    },
  }),
  endpoint({
    method: 'POST',
    path: `${path}/{id}/reveal-token`,
    tag,
    summary: `Shows the token; the audit log records it${etagNote}`,
    hasEtag: true,
    role: 'editor',
    needsProof: true,
    params: idParams,
    body: actionRequestSchema,
    answer: revealedToken,
    audit: async ({ id }, _, records) => ({
      action: `${kind}.reveal_token`,
      kind,
      id: String(await recordId(records, id)),
    }),
    run: async ({ params, records }) => {
      const id = await recordId(records, params.id);
      const { value, revision } = await existing(setOf(records), id);
      const previous = (await previousOf(records).get(id))?.value;
      const isAlive = previous !== undefined && previous.expires_at > nowSeconds();
      return { body: { token: value.token, previous: isAlive ? previous : null }, revision };
    },
  }),
];

const ofSources = {
  kind: 'data_source',
  setOf: (records: Records) => records.dataSources,
  previousOf: (records: Records) => records.previousTokens,
  rotate: rotateDataSourceToken,
} as const;

/** The data id of a report with a data source. Permanent Fault `not_found`. */
const dataIdOfReport = async (records: Records, reportId: number): Promise<number> => {
  const report = (await existing(records.reports, reportId)).value;
  if ((await records.dataSources.get(report.mon_data_id)) !== undefined) return report.mon_data_id;
  throw new Fault('permanent', 'not_found', `custom report ${reportId} has no data source yet`);
};

/** The actions on tokens: of data sources, of the reports they belong to, and of applications. */
export const allTokenEndpoints = (): Endpoint[] => [
  ...tokenEndpoints({
    ...ofSources,
    path: '/api/v1/data-sources',
    tag: 'Data sources',
    recordId: async (_, id) => id,
  }),
  ...tokenEndpoints({
    ...ofSources,
    path: '/api/v1/custom-reports',
    // A rotation changes the data source alone: under the ETag of the report two rotations would pass.
    etagNote: '. The ETag is that of the data source',
    tag: 'Custom reports',
    recordId: dataIdOfReport,
  }),
  ...tokenEndpoints({
    path: '/api/v1/applications',
    tag: 'Applications',
    kind: 'application',
    recordId: async (_, id) => id,
    setOf: (records) => records.applications,
    previousOf: (records) => records.previousApplicationTokens,
    rotate: rotateApplicationToken,
  }),
];
