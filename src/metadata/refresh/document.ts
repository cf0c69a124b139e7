import { createHash } from 'node:crypto';
import type { SourcePolicy } from '../../directory/policies.ts';
import type { DataSource, TimeSeriesGroup } from '../../directory/records.ts';
import { patternTextMax } from '../../model/text-forms.ts';

/** The platform prefix in the names that collectors read, where no setting names another. */
export const collectorPrefixDefault = 'bk';

/** The facts of one data id for a collector. */
export type CollectorValues = {
  readonly dataId: number;
  readonly bizId: number;
  /** The access token: one file holds one. */
  readonly token: string;
  /** Requests per second: 0 = unlimited, below 0 = none. */
  readonly qps: number;
  /** How many seconds after now a point's time may be. */
  readonly aheadSecondsMax: number;
};

/** The values where the records of a data id have none. */
export type CollectorDefaults = {
  /** Requests per second where max_rate is -1; 0 = unlimited. */
  readonly maxRate: number;
  /** Seconds; undefined = no bound. */
  readonly aheadSecondsMax: number | undefined;
};

/** The collector has no word for "no bound": 68 years. */
const aheadSecondsUnbounded = 2_147_483_647;

/** The values of a data id, from its records. */
export const collectorValues = (
  dataSource: Pick<DataSource, 'mon_data_id' | 'token'>,
  group: Pick<TimeSeriesGroup, 'mon_biz_id' | 'max_rate'>,
  policy: Pick<SourcePolicy, 'ahead_seconds_max'> | undefined,
  defaults: CollectorDefaults,
): CollectorValues => {
  const own = policy?.ahead_seconds_max;
  return {
    dataId: dataSource.mon_data_id,
    bizId: group.mon_biz_id,
    token: dataSource.token,
    qps: group.max_rate === -1 ? defaults.maxRate : group.max_rate,
    aheadSecondsMax: (own === undefined ? defaults.aheadSecondsMax : own) ?? aheadSecondsUnbounded,
  };
};

const hex = (codePoint: number, digits: number): string => codePoint.toString(16).padStart(digits, '0');

/**
 * A double quoted YAML scalar in ASCII: YAML reads the escapes of JSON, and line separators must not break the line.
 */
const quoted = (text: string): string =>
  JSON.stringify(text).replaceAll(/[^\x20-\x7e]/gu, (character) => {
    const codePoint = character.codePointAt(0) ?? 0;
    return codePoint > 0xffff ? `\\U${hex(codePoint, 8)}` : `\\u${hex(codePoint, 4)}`;
  });

/**
 * The `report_v2` sub-configuration of one data id and one token, in the names the collector reads; `prefix` is that of
 * the platform. The same values always give the same bytes.
 */
export const renderDocument = (
  values: CollectorValues,
  prefix = collectorPrefixDefault,
): string => `type: "report_v2"
token: ${quoted(values.token)}
${prefix}_biz_id: ${values.bizId}

default:
  processor:
    - name: "token_checker/proxy"
      config:
        type: "proxy"
        proxy_dataid: ${values.dataId}
        proxy_token: ${quoted(values.token)}

    - name: "rate_limiter/token_bucket"
      config:
        type: "token_bucket"
        qps: ${values.qps}
        burst: ${values.qps}

    - name: "proxy_validator/common"
      config:
        type: "time_series"
        version: "v2"
        max_future_time_offset: ${values.aheadSecondsMax}
`;

/**
 * The file a collector reads the document from: hosts load only names that begin with `<prefix>-collector-`. During the
 * overlap of a rotation the token before has a file of its own.
 */
export const documentName = (dataId: number, prefix: string, kind?: 'previous'): string =>
  `${prefix}-collector-report-v2-${dataId}${kind === undefined ? '' : `-${kind}`}.conf`;

/** MD5 in hex of the text's UTF-8 bytes: a mark of change, not a safeguard. */
export const md5Of = (text: string): string => createHash('md5').update(text).digest('hex');

const tokenLine = /^(\s*(?:proxy_)?token: )"((?:[^"\\]|\\.)*)"$/gm;

/** The document with its first `shown` characters of the token and 32 characters in all, the rest of them `*`. */
export const maskDocument = (document: string, shown: 0 | 4): string => {
  if (document.length > patternTextMax) return '*'.repeat(32);
  let masked = 0;
  const text = document.replaceAll(tokenLine, (_, head: string, token: string) => {
    masked++;
    return `${head}"${token.slice(0, shown).replaceAll(/[^0-9a-z]/g, '*')}${'*'.repeat(32 - shown)}"`;
  });
  // Another hand's document may hold the token anywhere.
  return masked === 2 ? text : '*'.repeat(32);
};
