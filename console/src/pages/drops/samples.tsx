import { useState } from 'preact/hooks';
import { type Answer, get, type Input } from '../../api/client.ts';
import { nowSeconds } from '../../api/clock.ts';
import type { components } from '../../api/schema.d.ts';
import { useAct, useGet, useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { column, text } from '../../parts/columns.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Facts } from '../../parts/facts.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { OwnerLink, ownerQuery, ownerText } from '../../parts/owners.tsx';
import { itemOf } from '../../parts/signals.ts';
import { Await, Failed } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { Explanation } from '../outcomes/reasons.tsx';
import { reasonCounts } from '../outcomes/series.ts';
import { keyOf } from './tail.ts';

export type Drop = components['schemas']['Drop'];

/** How often this reason came of its owner in the last hour, by the account and its refusals. */
const useCount = ({ reason, ...drop }: Drop) =>
  useLoad(`${ownerText(drop)} ${reason}`, async (signal) => {
    const query = { since: nowSeconds() - 3_600, ...ownerQuery(ownerText(drop)) };
    const { buckets } = await get('/api/v1/outcomes', {
      query: { ...query, by: 'minute', group: 'reason' },
      signal,
    });
    return reasonCounts(buckets).get(reason);
  });

const placeText = ({ ordinal, pipeline }: Drop): string =>
  ordinal < 0 ? 'the whole request' : `${itemOf(pipeline)} ${ordinal} of its request, counted from 0`;

/** One sample: what was sent, by whom, why it was dropped, and what to do. */
const SampleDialog = ({ drop, onClose }: { drop: Drop; onClose: () => void }) => {
  const count = useCount(drop);
  return (
    <Dialog title={drop.reason} onClose={onClose}>
      <Explanation code={drop.reason} count={count.data} span="the last hour, of this owner" />
      <Facts
        of={{
          When: <Time at={drop.at} seconds />,
          Owner: <OwnerLink of={drop} none="no owner: the request had no valid token" />,
          Item: placeText(drop),
          Field: drop.field !== '' && <Hostile text={drop.field} />,
          Value: drop.value !== '' && <Hostile text={drop.value} />,
          Detail: drop.detail !== '' && <Hostile text={drop.detail} />,
          Sender: drop.sender !== '' && <Hostile text={drop.sender} />,
          SDK: drop.sdk !== '' && <Hostile text={drop.sdk} />,
        }}
      />
      {drop.payload !== '' && (
        <>
          <h3>As received, without secrets, at most 1 KiB</h3>
          <p class="payload">
            <Hostile text={drop.payload} max={1100} />
          </p>
        </>
      )}
      <Button onClick={onClose}>Close</Button>
    </Dialog>
  );
};

const columnsOf = (open: (drop: Drop) => void): Column<Drop>[] => [
  { key: 'at', title: 'Time', cell: ({ at }) => <Time at={at} seconds ms />, sortBy: ({ at }) => at },
  column('Owner', (drop) => ownerText(drop) || '–', ownerText),
  column(
    'Reason',
    (drop) => (
      <Button class="more" aria-haspopup="dialog" onClick={() => open(drop)}>
        {drop.reason}
      </Button>
    ),
    ({ reason }) => reason,
  ),
  text('Field', ({ field }) => field || '–', 40),
  text('Value', ({ value }) => value || '–', 40),
  text('Sender', ({ sender }) => sender || '–', 30),
  text('SDK', ({ sdk }) => sdk || '–', 40),
];

type SampleTableProps = { drops: readonly Drop[]; empty: preact.ComponentChildren };

/** Samples as a table; the reason of a row opens it. */
export const SampleTable = ({ drops, empty }: SampleTableProps) => {
  const [opened, setOpened] = useState<Drop>();
  return (
    <>
      <Table
        caption="Samples"
        sortName="samples"
        rows={drops}
        keyOf={keyOf}
        empty={empty}
        rowsMax={200}
        columns={columnsOf(setOpened)}
      />
      {opened !== undefined && (
        <SampleDialog key={keyOf(opened)} drop={opened} onClose={() => setOpened(undefined)} />
      )}
    </>
  );
};

type Page = Answer<'/api/v1/drops'>;

/** The samples of a query, newest first, page by page. */
export const Samples = ({ query }: { query: NonNullable<Input<'/api/v1/drops', 'get'>['query']> }) => {
  // A range that ends now moves with each drawing of the page: the pages below each other are of one range.
  const [asked] = useState(query);
  const first = useGet('/api/v1/drops', { query: asked });
  const [more, setMore] = useState<readonly Page[]>([]);
  const cursor = (more.at(-1) ?? first.data)?.next_cursor ?? undefined;
  const { run, isRunning, error } = useAct(async () => {
    if (cursor === undefined) return;
    const page = await get('/api/v1/drops', { query: { ...asked, cursor } });
    setMore([...more, page]);
  });
  return (
    <Await of={first}>
      {(page) => (
        <>
          <SampleTable
            drops={[page, ...more].flatMap(({ items }) => items)}
            empty="No sample is kept of this. Samples are a selection of the dropped items and refused requests, kept for 30 days."
          />
          {error !== undefined && <Failed error={error} />}
          {cursor !== undefined && (
            <Button disabled={isRunning} onClick={() => void run()}>
              {isRunning ? 'Loading …' : 'Older samples'}
            </Button>
          )}
        </>
      )}
    </Await>
  );
};
