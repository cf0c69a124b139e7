import type { Answer } from '../../api/client.ts';
import { nowSeconds } from '../../api/clock.ts';
import { useGet } from '../../api/use.ts';
import { code, column, text, word } from '../../parts/columns.tsx';
import { Choice, TextFilter } from '../../parts/filters.tsx';
import { Listing } from '../../parts/listing.tsx';
import { Await } from '../../parts/states.tsx';
import type { Column } from '../../parts/table.tsx';
import { useAddress } from '../../shell/router.ts';
import { Processes } from '../line/processes.tsx';

/** Whether one of the texts has what the reader searches. */
const has = (search: string, ...texts: readonly (string | null)[]): boolean =>
  texts.some((text) => text?.toLowerCase().includes(search.toLowerCase()) === true);

type Setting = Answer<'/api/v1/settings'>['items'][number];

const settingColumns: readonly Column<Setting>[] = [
  code('Setting', ({ setting }) => setting),
  text('Value', ({ value }) => value),
  text('Origin', ({ source, setting }) =>
    source === `environment variable ${setting}` ? 'environment' : source,
  ),
  column('Meaning', ({ meaning }) => meaning),
];

const isDefault = ({ source }: Setting): boolean => source === 'default' || source === 'not set';

/** The settings of metadata with their origin; secrets are hidden by the API. */
export const Settings = () => {
  const { query } = useAddress();
  const search = query.get('search') ?? '';
  const isChanged = query.get('origin') === 'set';
  const loaded = useGet('/api/v1/settings', {});
  return (
    <>
      <div class="row list-filters">
        <TextFilter label="Search" name="search" />
        <Choice label="Origin" name="origin" any="all" options={[['set', 'set here, not by default']]} />
      </div>
      <p class="quiet">
        Of this metadata process. Other roles may have other values: tidemark config on their machine.
      </p>
      <Listing
        of={loaded}
        caption="Settings"
        columns={settingColumns}
        has={(each) =>
          (!isChanged || !isDefault(each)) && has(search, each.setting, each.value, each.meaning, each.source)
        }
        keyOf={({ setting }) => setting}
        empty="No setting matches."
      />
    </>
  );
};

type Reason = Answer<'/api/v1/reasons'>['items'][number];

const reasonColumns: readonly Column<Reason>[] = [
  code('Reason', (each) => each.code),
  word('Of', (each) => each.of),
  word('Stage', ({ stage }) => stage),
  word('Repaired by', (each) => each.fixable_by),
  column('Meaning', ({ meaning }) => meaning),
  column('Remedy', ({ remedy }) => remedy),
];

/** The closed table of reasons: what each means, and who can repair it. */
export const Reasons = () => {
  const { query } = useAddress();
  const search = query.get('search') ?? '';
  const matches = (name: string, value: string): boolean => (query.get(name) ?? value) === value;
  const loaded = useGet('/api/v1/reasons', {});
  return (
    <>
      <div class="row list-filters">
        <TextFilter label="Search" name="search" hint="code or words" />
        <Choice label="Of" name="of" any="all" options={['request', 'item', 'value']} />
        <Choice label="Stage" name="stage" any="all" options={['receiver', 'transfer']} />
        <Choice label="Repaired by" name="by" any="all" options={['sender', 'operator', 'tidemark']} />
      </div>
      <Listing
        of={loaded}
        caption="Reasons"
        columns={reasonColumns}
        has={(each) =>
          matches('of', each.of) &&
          matches('stage', each.stage) &&
          matches('by', each.fixable_by) &&
          has(search, each.code, each.meaning, each.remedy)
        }
        keyOf={({ code, of }) => `${of}-${code}`}
        empty="No reason matches."
      />
    </>
  );
};

/** Every process that was heard in the last two minutes, with its version. */
export const ProcessList = () => {
  const loaded = useGet('/api/v1/processes', {}, 5_000);
  return (
    <Await of={loaded}>
      {({ items }) => {
        const versions = new Set(items.filter(({ state }) => state !== 'gone').map(({ version }) => version));
        return (
          <>
            {versions.size > 1 && (
              <p class="state failed">
                {versions.size} versions run at once: finish the rollout, or undo it.
              </p>
            )}
            <Processes processes={items} at={nowSeconds()} />
          </>
        );
      }}
    </Await>
  );
};
