import { useRef } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { type Field, type Filled, FormDialog } from '../../parts/form.tsx';
import { announce } from '../../shell/announce.tsx';
import { href, navigate } from '../../shell/router.ts';
import type { Kind } from './owner.ts';
import { keepToken } from './tokens.ts';

const scenarios = [
  ...([
    'others',
    'other_rt',
    'os',
    'host_process',
    'host_device',
    'kubernetes',
    'application_check',
  ] as const),
  ...(['uptimecheck', 'apm', 'component', 'service_module', 'service_process', 'hardware_device'] as const),
  ...(['applications', 'services', 'hosts', 'data_center'] as const),
];
export const scenarioOf = (text: string | undefined): (typeof scenarios)[number] =>
  scenarios.find((scenario) => scenario === text) ?? 'others';

const field = (name: string, label: string, hint: string, more: Partial<Field> = {}): Field => ({
  name,
  label,
  hint,
  ...more,
});

export const rateField = (value: number): Field =>
  field(
    'max_rate',
    'Limit',
    'Requests a second of the whole cluster: -1 the default, 0 unlimited, below -1 none.',
    { ...{ kind: 'number', value: String(value), isRequired: true } },
  );

/** The fields of a report that can be changed later, too. */
export const detailFields = (description = '', scenario = 'others', label = ''): readonly Field[] => [
  field('description', 'Description', 'One line; information only.', { value: description }),
  field('scenario', 'Scenario', 'Its subject; information only.', {
    ...{ kind: 'select', value: scenario, options: scenarios },
  }),
  field('data_label', 'Data label', 'Other names for queries, separated by commas.', { value: label }),
];

const required = { isRequired: true } as const;
const check = { kind: 'check' } as const;
const business = field('mon_biz_id', 'Business', '0 is the platform; below 0 a space that is no business.', {
  ...{ kind: 'number', ...required },
});
const nameHint = 'Unique within the business.';
const fixed = 'Fixed at creation.';

const reportFields: readonly Field[] = [
  business,
  field('name', 'Name', nameHint, required),
  field('is_split_measurement', 'Split', `One row and one view for each metric. ${fixed}`, check),
  field(
    'is_platform',
    'Platform',
    `Belongs to all spaces; its table has no business in its name. ${fixed}`,
    check,
  ),
  rateField(-1),
  ...detailFields(),
  field('questdb', 'QuestDB instance', `Empty: the instance with the fewest tables. ${fixed}`),
  field('space_uid', 'Space', 'Only for a business below 0, where it is required: <space_type_id>__<id>.'),
];

const applicationFields: readonly Field[] = [
  business,
  field('app_name', 'Name', nameHint, required),
  rateField(0),
  field('deduplicate', 'Deduplicate', 'A byte-identical request is stored once.', { ...check, value: true }),
  field('fill_dimensions', 'Fill dimensions', "An empty net.host.ip becomes the sender's address.", {
    ...check,
    value: true,
  }),
];

const reportPath = '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries';

const createReport = async ({ text, number, flag }: Filled): Promise<[number, string]> => {
  const body = {
    mon_biz_id: number('mon_biz_id') ?? 0,
    name: text('name') ?? '',
    is_split_measurement: flag('is_split_measurement'),
    is_platform: flag('is_platform'),
    max_rate: number('max_rate') ?? -1,
    description: text('description') ?? '',
    scenario: scenarioOf(text('scenario')),
    data_label: text('data_label') ?? '',
    questdb: text('questdb'),
    space_uid: text('space_uid'),
    // Values of the schema that have a default there.
    ...({ source_system: 'unknown', type_label: 'time_series', source_label: 'custom' } as const),
  };
  const { data } = await call('post', reportPath, { body });
  return [data.mon_data_id, data.data_source.token];
};

const createApplication = async ({ text, number, flag }: Filled): Promise<[number, string]> => {
  const body = {
    mon_biz_id: number('mon_biz_id') ?? 0,
    app_name: text('app_name') ?? '',
    max_rate: number('max_rate') ?? 0,
    // A policy of its own is written only for what differs from the default.
    ...(flag('deduplicate') ? {} : { deduplicate: false }),
    ...(flag('fill_dimensions') ? {} : { fill_dimensions: false }),
  };
  const { application } = (await call('post', '/api/v1/applications', { body })).data;
  return [application.app_id, application.token];
};

/** Creates a report or an application, and goes to its set-up unless the reader has left the form meanwhile. */
export const CreateForm = ({ kind, onClose }: { kind: Kind; onClose: () => void }) => {
  const isSource = kind.noun === 'source';
  const created = useRef<number>(undefined);
  return (
    <FormDialog
      title={isSource ? 'Create a report' : 'Create an application'}
      fields={isSource ? reportFields : applicationFields}
      verb="Create"
      onClose={() => {
        onClose();
        if (created.current !== undefined) navigate(href(`${kind.path}/${created.current}/set-up`));
      }}
      act={async (filled) => {
        const [id, token] = await (isSource ? createReport(filled) : createApplication(filled));
        keepToken(kind.path, id, token);
        created.current = id;
        announce(`The ${isSource ? 'report' : 'application'} was created: ${id}`);
      }}
    >
      <p class="hint">
        {isSource
          ? 'A report gets a data id, a write token and a table in QuestDB.'
          : 'An application gets a write token for its exporters.'}
      </p>
    </FormDialog>
  );
};
