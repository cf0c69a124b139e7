import '../outcomes/outcomes.css';
import { useEffect, useRef, useState } from 'preact/hooks';
import { useLive, useLiveState } from '../../api/live.ts';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Choice, OwnerFilter } from '../../parts/filters.tsx';
import { numberText } from '../../parts/format.tsx';
import { ownerQuery, ownerText } from '../../parts/owners.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Failed, Loading, Unreadable, unreadableOwner } from '../../parts/states.tsx';
import { TimeRangePicker, useTimeRange } from '../../parts/time-range.tsx';
import { useQueryState } from '../../shell/router.ts';
import { ReasonFilter } from '../outcomes/reasons.tsx';

import { Samples, SampleTable } from './samples.tsx';
import { addTo, emptyTail, isDropsEvent } from './tail.ts';

const againMs = 5_000;
const settlingMs = 30_000;

/** True for half a minute after the stream begins, and each time it begins again. */
const useIsSettling = (): boolean => {
  const isLive = useLiveState() === 'live';
  const [isSettled, setIsSettled] = useState(false);
  useEffect(() => {
    setIsSettled(false);
    const timer = setTimeout(() => setIsSettled(true), settlingMs);
    return () => clearTimeout(timer);
  }, [isLive]);
  return isLive && !isSettled;
};

/**
 * New samples as they arrive, above the newest of the history. A sample is published seconds before it is written, so the history is
 * read again for a while after the stream has begun: no sample falls between the two.
 */
const useTail = (owner: string, isPaused: boolean) => {
  const [tail, setTail] = useState(emptyTail);
  const isSettling = useIsSettling();
  // What is polled instead of the stream is the newest of all owners.
  const isPolled = useLiveState() === 'polling' && owner !== '';
  const query = { ...ownerQuery(owner), limit: 50 };
  const history = useGet(
    '/api/v1/drops',
    { query },
    !isPaused && (isSettling || isPolled) ? againMs : undefined,
  );
  const { data } = history;
  const hasHistory = useRef(false);
  useEffect(() => {
    if (data === undefined) return;
    const isFirst = !hasHistory.current;
    hasHistory.current = true;
    setTail((former) => {
      const next = addTo(former, data.items.toReversed(), 0);
      return isFirst ? { ...next, count: former.count } : next;
    });
  }, [data]);
  useLive(isPaused ? undefined : owner === '' ? 'drops' : `drops:${owner}`, (event, polled) => {
    if (!isDropsEvent(event)) return;
    const { data_id = 0, app_id = 0, items, skipped = 0 } = event;
    const of = ownerText({ data_id, app_id });
    // Another tab may want another owner, or all of them: its events come here too.
    if (!polled && of !== owner && of !== '') return;
    const own = items.filter((drop) => owner === '' || ownerText(drop) === owner);
    setTail((former) => addTo(former, own, of === owner ? skipped : 0));
  });
  return { tail, history };
};

const Live = ({ owner, reason }: { owner: string; reason: string }) => {
  const [isPaused, setIsPaused] = useState(false);
  const { tail, history } = useTail(owner, isPaused);
  const shown = tail.drops.filter((drop) => reason === '' || drop.reason === reason);
  return (
    <>
      <p class="row">
        <Button aria-pressed={isPaused} onClick={() => setIsPaused(!isPaused)}>
          {isPaused ? 'Continue' : 'Pause'}
        </Button>
        <span class="quiet">
          {isPaused
            ? 'Paused: samples of this time are in the history.'
            : `${numberText(tail.count)} new since the page is open.`}
          {tail.skipped > 0 && ` ${numberText(tail.skipped)} skipped: more than 200 came in a second.`}
        </span>
      </p>
      {history.error !== undefined && <Failed error={history.error} onRetry={history.reload} />}
      {history.data === undefined && history.error === undefined && tail.drops.length === 0 ? (
        <Loading />
      ) : (
        <SampleTable
          drops={shown}
          empty={`No sample${reason === '' ? '' : ` of ${plainText(reason)}`} yet. Dropped items and refused requests appear here within two seconds.`}
        />
      )}
    </>
  );
};

const Past = ({ owner, reason }: { owner: string; reason: string }) => {
  const range = useTimeRange('24h');
  const query = { ...ownerQuery(owner), reason: reason || undefined, since: range.since, until: range.until };
  return <Samples key={`${owner} ${reason} ${range.key}`} query={query} />;
};

const Page = () => {
  const [view] = useQueryState('view');
  const [owner] = useQueryState('owner');
  const [reason] = useQueryState('reason');
  return (
    <>
      <h1>Drops</h1>
      <div class="row list-filters">
        <Choice label="Show" name="view" any="live" options={[['past', 'history of 30 days']]} />
        {view === 'past' && <TimeRangePicker fallback="24h" />}
        <OwnerFilter />
        <ReasonFilter />
      </div>
      <p class="quiet">
        Samples of dropped items, refused requests and lost values; a selection, best effort. Outcomes has the
        exact counts.
      </p>
      {ownerQuery(owner) === undefined ? (
        <Unreadable>{unreadableOwner}</Unreadable>
      ) : view === 'past' ? (
        <Past owner={owner} reason={reason} />
      ) : (
        <Live key={owner} owner={owner} reason={reason} />
      )}
    </>
  );
};

export default Page;
