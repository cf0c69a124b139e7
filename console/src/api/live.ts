import { useEffect, useRef, useState } from 'preact/hooks';
import { ApiError, queryText, send } from './client.ts';

// One event stream for all tabs of this browser: HTTP/1.1 gives it six connections a host. The tab that holds the lock reads
// the stream with the topics of all tabs, and passes each event on. A tab that was hidden for 30 s wants nothing; when no tab
// wants anything the stream is closed.

const hiddenMs = 30_000;
const tellMs = 5_000;
const pollMs = 5_000;
const streamAgainMs = 30_000;
/** A stream begins with a `beat` and has one each 10 s: after so long without any event nothing comes any more. */
const silentMs = 25_000;
const topicsMax = 8;
const lockName = 'tidemark-live';

/** The events of the stream, and where their data is read without it. */
const polls = { line: '/api/v1/line', drops: '/api/v1/drops?limit=50', dead_letters: undefined } as const;

export type LiveEvent = keyof typeof polls;

/** `line`, `drops`, `drops:1500001`, `drops:app:3`, `dead_letters`. */
export type Topic = LiveEvent | `drops:${string}`;

/** `idle`: no page wants events. `polling`: the stream was refused, figures come every 5 s. `lost`: no answer, it tries again. */
export type LiveState = 'idle' | 'connecting' | 'live' | 'polling' | 'lost';

type Message =
  | { kind: 'wants'; tab: string; topics: readonly Topic[] }
  | { kind: 'event'; event: LiveEvent; data: unknown; polled: boolean }
  | { kind: 'state'; state: LiveState }
  | { kind: 'hello' };

const tab = crypto.randomUUID();
const channel = new BroadcastChannel(lockName);
const listeners = new Map<LiveEvent, Set<(data: unknown, polled: boolean) => void>>();
const stateListeners = new Set<(state: LiveState) => void>();
const own = new Map<Topic, number>();
/** The leader's: what each tab wants, and when it last said so. */
const wanted = new Map<string, { topics: readonly Topic[]; at: number }>();
let state: LiveState = 'idle';
let isPaused = false;
let release: (() => void) | undefined;
let asking: AbortController | undefined;
let source: EventSource | undefined;
let sourceTopics = '';
let timer: ReturnType<typeof setTimeout> | undefined;

const deliver = (event: LiveEvent, data: unknown, polled: boolean): void => {
  if (isPaused) return;
  for (const listener of listeners.get(event) ?? []) listener(data, polled);
};

const setState = (next: LiveState): void => {
  if (state === next) return;
  state = next;
  for (const listener of stateListeners) listener(next);
};

/** Sends to the other tabs and to this one, as the leader does. */
const spread = (event: LiveEvent, data: unknown, polled = false): void => {
  channel.postMessage({ kind: 'event', event, data, polled } satisfies Message);
  deliver(event, data, polled);
};

const spreadState = (next: LiveState): void => {
  channel.postMessage({ kind: 'state', state: next } satisfies Message);
  setState(next);
};

/** As the server takes them: beyond eight the samples of all owners, of which each listener skips those of others. */
export const askedTopics = (topics: readonly Topic[]): string => {
  const all = [...new Set(topics)].toSorted();
  return (all.length > topicsMax ? [...new Set(all.map((topic) => topic.split(':')[0]))] : all).join();
};

const allTopics = (): string => {
  for (const [name, { at }] of wanted) if (Date.now() - at > 3 * tellMs) wanted.delete(name);
  return askedTopics([...wanted.values()].flatMap(({ topics }) => topics));
};

const close = (): void => {
  clearTimeout(timer);
  source?.close();
  source = undefined;
  sourceTopics = '';
};

const eventsOf = (topics: string): LiveEvent[] =>
  (Object.keys(polls) as LiveEvent[]).filter((event) =>
    topics.split(',').some((topic) => topic.split(':')[0] === event),
  );

/** Reads each event's own endpoint once; the stream is tried again after half a minute. */
const poll = async (topics: string, since: number): Promise<void> => {
  try {
    for (const event of eventsOf(topics)) {
      const path = polls[event];
      // Without data to read, whether metadata answers at all, and the session lives.
      const answer = await send(path ?? '/console/session');
      if (path !== undefined) spread(event, await answer.json(), true);
    }
    if (sourceTopics === topics) spreadState('polling');
  } catch (error) {
    if (sourceTopics === topics) spreadState('lost');
    if (error instanceof ApiError && error.status === 401) return close();
  }
  if (sourceTopics !== topics || release === undefined) return;
  const again = (): void => (Date.now() - since > streamAgainMs ? open(topics) : void poll(topics, since));
  timer = setTimeout(again, pollMs);
};

/** Only time shows that a process hangs, or that its host is gone: the connection stays open. */
const watchSilence = (topics: string): void => {
  clearTimeout(timer);
  timer = setTimeout(() => {
    spreadState('lost');
    open(topics);
  }, silentMs);
};

const open = (topics: string): void => {
  close();
  sourceTopics = topics;
  if (topics === '') return spreadState('idle');
  spreadState(state === 'lost' || state === 'polling' ? state : 'connecting');
  source = new EventSource(`/api/v1/live${queryText({ topics })}`);
  watchSilence(topics);
  // The silence of a server of an earlier version, which sends no beat, says nothing.
  let hasBeats = false;
  source.onopen = () => {
    clearTimeout(timer);
    hasBeats = false;
    spreadState('live');
  };
  source.addEventListener('beat', () => {
    hasBeats = true;
    watchSilence(topics);
  });
  source.onerror = () => {
    clearTimeout(timer);
    // Closed means an answer that is not a stream: too many readers, or a session that has ended. Else the browser reconnects.
    if (source?.readyState === EventSource.CLOSED) return void poll(topics, Date.now());
    spreadState('lost');
    watchSilence(topics);
  };
  for (const event of eventsOf(topics))
    source.addEventListener(event, ({ data }: MessageEvent<string>) => {
      if (hasBeats) watchSilence(topics);
      spread(event, JSON.parse(data));
    });
};

const lead = (): void => {
  const topics = allTopics();
  if (topics !== sourceTopics) open(topics);
};

const tellWants = (): void => {
  const topics = isPaused ? [] : [...own.keys()];
  if (release === undefined) return channel.postMessage({ kind: 'wants', tab, topics } satisfies Message);
  wanted.set(tab, { topics, at: Date.now() });
  lead();
};

/** Waits to become the leader while this tab wants something. */
const ask = (): void => {
  if (asking !== undefined) return;
  const aborting = new AbortController();
  asking = aborting;
  navigator.locks
    .request(lockName, { signal: aborting.signal }, () => {
      const held = new Promise<void>((resolve) => {
        release = resolve;
      });
      channel.postMessage({ kind: 'hello' } satisfies Message);
      tellWants();
      return held;
    })
    .catch(() => undefined);
};

const resign = (): void => {
  asking?.abort();
  asking = undefined;
  if (release === undefined) return tellWants();
  close();
  wanted.clear();
  release();
  release = undefined;
};

const update = (): void => {
  if (isPaused || own.size === 0) {
    resign();
    setState('idle');
    return;
  }
  ask();
  tellWants();
};

channel.onmessage = ({ data }: MessageEvent<Message>) => {
  if (data.kind === 'event') deliver(data.event, data.data, data.polled);
  else if (data.kind === 'state' && own.size > 0 && !isPaused) setState(data.state);
  else if (data.kind === 'hello' && own.size > 0) tellWants();
  else if (data.kind === 'wants' && release !== undefined) {
    wanted.set(data.tab, { topics: data.topics, at: Date.now() });
    channel.postMessage({ kind: 'state', state } satisfies Message);
    lead();
  }
};

export const startLive = (): void => {
  let hidden: ReturnType<typeof setTimeout> | undefined;
  const pause = (paused: boolean): void => {
    if (isPaused === paused) return;
    isPaused = paused;
    update();
  };
  const follow = (): void => {
    clearTimeout(hidden);
    if (document.hidden) hidden = setTimeout(() => pause(true), hiddenMs);
    else pause(false);
  };
  document.addEventListener('visibilitychange', follow);
  // A tab may be opened in the background.
  follow();
  addEventListener('pagehide', resign);
  addEventListener('pageshow', update);
  setInterval(() => own.size > 0 && !isPaused && tellWants(), tellMs);
};

/**
 * Calls `onEvent` with the data of each event of the topic while the component is there. Other tabs may want other topics of
 * the same event, so a listener of `drops:…` also gets other samples and skips them. `polled`: from the event's own endpoint.
 */
export const useLive = (
  topic: Topic | undefined,
  onEvent: (data: unknown, polled: boolean) => void,
): void => {
  const latest = useRef(onEvent);
  latest.current = onEvent;
  useEffect(() => {
    if (topic === undefined) return;
    const event = topic.split(':')[0] as LiveEvent;
    const listener = (data: unknown, polled: boolean): void => latest.current(data, polled);
    const group = listeners.get(event) ?? new Set();
    listeners.set(event, group.add(listener));
    own.set(topic, (own.get(topic) ?? 0) + 1);
    update();
    return () => {
      group.delete(listener);
      const count = (own.get(topic) ?? 1) - 1;
      if (count === 0) own.delete(topic);
      else own.set(topic, count);
      update();
    };
  }, [topic]);
};

export const useLiveState = (): LiveState => {
  const [shown, setShown] = useState(state);
  useEffect(() => {
    setShown(state);
    stateListeners.add(setShown);
    return () => void stateListeners.delete(setShown);
  }, []);
  return shown;
};
