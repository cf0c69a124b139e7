import { call } from '../../api/client.ts';
import { type Field, type Filled, FormDialog } from '../../parts/form.tsx';
import { href, navigate } from '../../shell/router.ts';
import { type Kind, scenarioOf, scenarios } from './owner.ts';
import { keepToken } from './tokens.ts';

const rateHint = 'Requests a second of the whole cluster: -1 the default, 0 unlimited, below -1 none.';
const business: Field = {
  name: 'mon_biz_id',
  label: 'Business',
  kind: 'number',
  isRequired: true,
  hint: '0 is the platform; below 0 a space that is no business.',
};

export const scenarioField = (value: string): Field => ({
  name: 'scenario',
  label: 'Scenario',
  kind: 'select',
  value,
  options: scenarios.map((scenario) => [scenario, scenario]),
  hint: 'Its subject; information only.',
});
export const labelField = (value: string): Field => ({
  name: 'data_label',
  label: 'Data label',
  value,
  hint: 'Other names for queries, separated by commas; no effect on routing.',
});
export const descriptionField = (value: string): Field => ({
  name: 'description',
  label: 'Description',
  value,
  hint: 'One line; information only.',
});
export const rateField = (value: number): Field => ({
  name: 'max_rate',
  label: 'Limit',
  kind: 'number',
  value: String(value),
  hint: rateHint,
  isRequired: true,
});

const reportFields: readonly Field[] = [
  business,
  { name: 'name', label: 'Name', isRequired: true, hint: 'Unique within the business.' },
  descriptionField(''),
  {
    name: 'is_split_measurement',
    label: 'Split: one row and one view for each metric',
    kind: 'check',
    hint: 'Fixed at creation. Otherwise a point is one row with a column for each metric.',
  },
  {
    name: 'is_platform',
    label: 'Platform: belongs to all spaces',
    kind: 'check',
    hint: 'Fixed at creation. The name of its table has no business.',
  },
  rateField(-1),
  scenarioField('others'),
  labelField(''),
  {
    name: 'questdb',
    label: 'QuestDB instance',
    hint: 'Empty: the instance with the fewest tables. Fixed at creation.',
  },
  {
    name: 'space_uid',
    label: 'Space',
    hint: 'Only for a business below 0, where it is required: <space_type_id>__<id>.',
  },
];

const applicationFields: readonly Field[] = [
  business,
  { name: 'app_name', label: 'Name', isRequired: true, hint: 'Unique within the business.' },
  rateField(0),
  {
    name: 'deduplicate',
    label: 'Deduplicate: a byte-identical request is stored once',
    kind: 'check',
    value: true,
  },
  {
    name: 'fill_dimensions',
    label: "Fill an empty net.host.ip with the sender's address",
    kind: 'check',
    value: true,
  },
];

/** What is left empty is not sent: the API has the default. */
const createReport = async ({ text, number, flag }: Filled): Promise<number> => {
  const { data } = await call(
    'post',
    '/operations/monitor_web.custom_report.resources.CreateCustomTimeSeries',
    {
      body: {
        mon_biz_id: number('mon_biz_id') ?? 0,
        name: text('name') ?? '',
        is_split_measurement: flag('is_split_measurement'),
        is_platform: flag('is_platform'),
        max_rate: number('max_rate') ?? -1,
        scenario: scenarioOf(text('scenario')) ?? 'others',
        data_label: text('data_label') ?? '',
        ...Object.fromEntries(
          ['description', 'questdb', 'space_uid'].flatMap((name) => {
            const value = text(name);
            return value === undefined ? [] : [[name, value]];
          }),
        ),
      },
    },
  );
  keepToken('/sources', data.mon_data_id, data.data_source.token);
  return data.mon_data_id;
};

const createApplication = async ({ text, number, flag }: Filled): Promise<number> => {
  const { data } = await call('post', '/api/v1/applications', {
    body: {
      mon_biz_id: number('mon_biz_id') ?? 0,
      app_name: text('app_name') ?? '',
      max_rate: number('max_rate') ?? 0,
      ...(flag('deduplicate') ? {} : { deduplicate: false }),
      ...(flag('fill_dimensions') ? {} : { fill_dimensions: false }),
    },
  });
  keepToken('/applications', data.application.app_id, data.application.token);
  return data.application.app_id;
};

/** Creates a report or an application, and goes to its set-up. */
export const CreateForm = ({ kind, onClose }: { kind: Kind; onClose: () => void }) => {
  const isSource = kind.path === '/sources';
  return (
    <FormDialog
      title={isSource ? 'Create a report' : 'Create an application'}
      fields={isSource ? reportFields : applicationFields}
      verb="Create"
      onClose={onClose}
      act={async (filled) => {
        const id = isSource ? await createReport(filled) : await createApplication(filled);
        navigate(href(`${kind.path}/${id}/set-up`));
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
