import { Choice } from '../../parts/filters.tsx';
import { plainText } from '../../parts/plain-text.ts';
import '../outcomes/outcomes.css';
import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { useLoad } from '../../api/use.ts';
import { numberText } from '../../parts/format.tsx';
import { Await } from '../../parts/states.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { useQueryState } from '../../shell/router.ts';
import { OwnerPicker, ReasonPicker } from '../outcomes/reasons.tsx';
import { ownerQuery, ownerText } from '../outcomes/series.ts';
import { type Drop, Samples, SampleTable } from './samples.tsx';
import { addTo, type DropsEvent, emptyTail, isDropsEvent, type Tail } from './tail.ts';

const useTail = (owner: string, isPaused: boolean): Tail => {
  const [tail, setTail] = useState(emptyTail);
  const add = ({ items, skipped = 0 }: DropsEvent): void =>
    setTail((former) =>
      addTo(
        former,
        items.filter((drop) => owner === '' || ownerText(drop) === owner),
        skipped,
      ),
    );
  useLive(isPaused ? undefined : owner === '' ? 'drops' : `drops:${owner}`, (data, polled) => {
    if (!isDropsEvent(data)) return;
    const event = data;
    // Another tab may want another owner: its events come here too.
    const { data_id = 0, app_id = 0 } = event;
    if (polled || ownerText({ data_id, app_id }) === owner) add(event);
  });
  return tail;
};

/** New samples as they arrive, above the newest of the history. */
const Live = ({ owner, reason, history }: { owner: string; reason: string; history: readonly Drop[] }) => {
  const [isPaused, setIsPaused] = useState(false);
  const tail = useTail(owner, isPaused);
  const { drops } = addTo({ ...emptyTail, drops: history.toReversed() }, tail.drops.toReversed(), 0);
  const shown = drops.filter((drop) => reason === '' || drop.reason === reason);
  return (
    <>
      <p class="row">
        <button type="button" aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </button>
        <span class="quiet">
          {isPaused
            ? 'Paused: samples of this time are in the history.'
            : `${numberText(tail.count)} new since the page is open.`}
          {tail.skipped > 0 && ` ${numberText(tail.skipped)} skipped: more than 200 came in a second.`}
        </span>
      </p>
      <SampleTable
        drops={shown}
        empty={`No sample${reason === '' ? '' : ` of ${plainText(reason)}`} yet. Dropped items and refused requests appear here within two seconds.`}
      />
    </>
  );
};

const Past = ({ owner, reason }: { owner: string; reason: string }) => {
  const range = useTimeRange('24h');
  const query = {
    ...ownerQuery(owner),
    ...(reason === '' ? {} : { reason }),
    since: range.since,
    ...(range.until === undefined ? {} : { until: range.until }),
  };
  return <Samples key={`${owner} ${reason} ${range.key}`} query={query} />;
};

const Page = () => {
  const [view] = useQueryState('view');
  const [owner, setOwner] = useQueryState('owner');
  const [reason, setReason] = useQueryState('reason');
  const history = useLoad(owner, (signal) =>
    get('/api/v1/drops', { query: { ...ownerQuery(owner), limit: 50 }, signal }),
  );
  return (
    <>
      <h1>Drops</h1>
      <form class="row controls" onSubmit={(event) => event.preventDefault()}>
        <Choice
          label="Show"
          name="view"
          options={[
            ['', 'live'],
            ['past', 'history of 30 days'],
          ]}
        />
        {view === 'past' && <TimeRangePicker fallback="24h" />}
        <OwnerPicker value={owner} onValue={setOwner} />
        <ReasonPicker value={reason} onValue={setReason} />
      </form>
      <p class="quiet">
        Samples of dropped items, refused requests and lost values; a selection, best effort. Outcomes has the
        exact counts.
      </p>
      {view === 'past' ? (
        <Past owner={owner} reason={reason} />
      ) : (
        <Await of={history}>
          {({ items }) => <Live key={owner} owner={owner} reason={reason} history={items} />}
        </Await>
      )}
    </>
  );
};

export default Page;
