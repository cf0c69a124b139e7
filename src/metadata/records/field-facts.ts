/** What can change a field after its record was created. */
export type Changer =
  /** PATCH of the record itself. */
  | 'patch'
  /** PATCH of the custom report it belongs to. */
  | 'report_patch'
  /** Enabling and disabling. */
  | 'switch'
  | 'delete'
  | 'purge'
  | 'rotate_token'
  /** Each of those that there are for the record. */
  | 'every_change';

/** What a creation that names only a business and a name puts into a field. */
export type FieldDefault =
  | { readonly is: string | number | boolean | null }
  /** Made of other values: of fields of the creation's answer, in braces. */
  | { readonly template: string }
  /** In words, and how it looks. */
  | { readonly made: string; readonly looks: RegExp };

/** What people have to know of a field besides its type. */
export type FieldFacts = {
  readonly default: FieldDefault;
  /** Empty: fixed at creation. */
  readonly changedBy: readonly Changer[];
  readonly effect: string;
  readonly example: string | number | boolean | null;
};

export type Facts<T> = Readonly<Record<keyof T, FieldFacts>>;

const seconds = { made: 'the time of the creation', looks: /^\d{10}$/ };

export const dataId: FieldFacts = {
  default: { made: 'the next data id', looks: /^(1[5-9]|20)\d{5}$/ },
  changedBy: [],
  effect: 'The data id: producers send it, and the name of the table contains it. Never used again.',
  example: 1_500_001,
};

export const authorship = {
  creator: {
    default: { is: 'admin' },
    changedBy: [],
    effect:
      'Who created the record: the name of the admin token, and `<operator> via <token>` where the request names an operator.',
    example: 'admin',
  },
  create_time: {
    default: seconds,
    changedBy: [],
    effect: 'When the record was created, Unix seconds.',
    example: 1_795_000_000,
  },
  last_modify_user: {
    default: { is: 'admin' },
    changedBy: ['every_change'],
    effect: 'Who changed the record last, in the same form.',
    example: 'admin',
  },
  last_modify_time: {
    default: seconds,
    changedBy: ['every_change'],
    effect: 'When the record was changed last, Unix seconds.',
    example: 1_795_000_000,
  },
} as const satisfies Record<string, FieldFacts>;

const tableId = '2_mon_time_series_1500001.__default__';

/** Of the field `field`: the table's name, as the report has it. */
export const tableIdFacts: FieldFacts = {
  default: { template: '{mon_biz_id}_mon_time_series_{mon_data_id}.__default__' },
  changedBy: [],
  effect:
    'The name of the QuestDB table. `mon` is TIDEMARK_TABLE_PREFIX; tables of business 0 have no business in front.',
  example: tableId,
};

export const splitFacts: FieldFacts = {
  default: { is: false },
  changedBy: [],
  effect:
    'false: one row per point with a column per metric. true: one row per metric, and a view per metric with its own name.',
  example: false,
};

export const monBizId: FieldFacts = {
  default: { template: '{mon_biz_id}' },
  changedBy: [],
  effect: 'The business; 0 is the platform, below 0 are spaces that are no business.',
  example: 2,
};
