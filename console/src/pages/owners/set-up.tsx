import { useEffect, useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { useGet, useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/copy.tsx';
import { Time } from '../../parts/format.tsx';
import { Await, Badge, Failed } from '../../parts/states.tsx';
import { announce } from '../../shell/announce.tsx';
import { href, useQueryState } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';
import { waitingWords } from './figures.ts';
import { type Activity, itemsOfKind } from './owner.ts';
import type { TabProps } from './pieces.tsx';
import { Refusals } from './refusals.tsx';
import { keptToken, useReveal } from './tokens.ts';

/** Stands in a snippet in the place of the token. */
const placeholder = '<token>';
const askEveryMs = 1_000;

const whereStored = ({ kind, owner }: TabProps) =>
  kind.noun === 'source' ? (
    <>
      in table <code>{owner.tableId}</code>:{' '}
      <a href={href('/points', { source: String(owner.id) })}>explore its points</a>
    </>
  ) : (
    <>
      in ClickHouse: spans in <code>otel_traces</code> (<a href={href('/traces')}>explore its traces</a>), log
      records in <code>otel_logs</code>, data points in <code>otel_metrics_…</code> (
      <a href={href(`/applications/${owner.id}/series`)}>its series</a>)
    </>
  );

const State = ({ waiting, refusals, ...props }: TabProps & Pick<Activity, 'waiting' | 'refusals'>) => {
  const state = waiting?.state ?? 'waiting';
  const words = waitingWords(state, props.kind.pipelines);
  useEffect(() => {
    if (state !== 'waiting') announce(words);
  }, [state, words]);
  return (
    <>
      <p class="row">
        <Badge tone={state === 'stored' ? 'good' : state === 'refused' ? 'bad' : 'info'}>{words}</Badge>
        {state === 'stored' && waiting?.stored_at != null && (
          <span>
            at <Time at={waiting.stored_at} seconds />, {whereStored(props)}.
          </span>
        )}
        {state === 'waiting' && (
          <span class="quiet">Run a snippet; this line changes about a second later.</span>
        )}
        {state === 'refused' && <span>Change what the table says, and send again.</span>}
      </p>
      {refusals.length > 0 && <Refusals items={refusals} empty="" />}
    </>
  );
};

/** Follows what arrives from the moment when the page was opened; a stored item ends it. */
const FirstItem = (props: TabProps) => {
  const { kind, owner } = props;
  const [since, setSince] = useState<number>();
  const [isOver, setIsOver] = useState(false);
  const loaded = useLoad(
    `waiting ${kind.path} ${owner.id} ${since}`,
    async (signal) => {
      const query = { minutes: 0, since };
      const answer = await get(`/api/v1/${kind.base}/{id}/activity`, {
        path: { id: owner.id },
        query,
        signal,
      });
      // The time of the server decides what is new.
      if (since === undefined) setSince(Math.floor(answer.at));
      if (answer.waiting?.state === 'stored') setIsOver(true);
      return answer;
    },
    isOver ? undefined : askEveryMs,
  );
  return (
    <section class="waiting">
      <h2>Is it arriving?</h2>
      <Await of={loaded}>
        {({ waiting, refusals }) => (
          <State {...props} waiting={waiting} refusals={waiting === null ? [] : refusals} />
        )}
      </Await>
      {isOver && (
        <Button
          onClick={() => {
            setIsOver(false);
            setSince(undefined);
          }}
        >
          Wait for the next one
        </Button>
      )}
    </section>
  );
};

/** Snippets that run, with the address and the token of this deployment, and whether the first item has arrived. */
export const SetUp = (props: TabProps) => {
  const { kind, owner } = props;
  const [name, setName] = useQueryState('client', 'curl');
  const [token, setToken] = useState(keptToken(kind.path, owner.id));
  const isEditor = useAllows('editor');
  const reveal = useReveal(props, (shown) => setToken(shown.token));
  const loaded = useGet('/api/v1/snippets', { query: kind.queryOf(owner.id) });
  return (
    <>
      {owner.state !== 'enabled' && (
        <p class="state failed">
          This {kind.noun} is {owner.state}: receivers refuse its requests. Enable it first.
        </p>
      )}
      <FirstItem {...props} />
      <h2>Send {itemsOfKind(kind)}</h2>
      <Await of={loaded}>
        {({ items }) => {
          const chosen = items.find((item) => item.name === name) ?? items[0];
          return (
            <>
              <fieldset class="row choices">
                <legend class="unseen">Client</legend>
                {items.map((item) => (
                  <Button key={item.name} aria-pressed={item === chosen} onClick={() => setName(item.name)}>
                    {item.title}
                  </Button>
                ))}
              </fieldset>
              {chosen !== undefined && (
                <>
                  {chosen.needs !== '' && (
                    <p class="hint">
                      Needs:{' '}
                      {chosen.needs
                        .split('`')
                        .map((part, index) => (index % 2 === 1 ? <code key={index}>{part}</code> : part))}
                      .
                    </p>
                  )}
                  <Code
                    text={token === undefined ? chosen.text : chosen.text.replaceAll(placeholder, token)}
                    what={`the snippet for ${chosen.title}`}
                  />
                </>
              )}
            </>
          );
        }}
      </Await>
      <p class="row">
        {token !== undefined && (
          <span class="quiet">The snippet has the write token: treat it as a secret.</span>
        )}
        {token === undefined && isEditor && (
          <Button disabled={reveal.isRunning} onClick={() => void reveal.run()}>
            Put the token in
          </Button>
        )}
        {token === undefined && (
          <span class="quiet">
            {isEditor
              ? `${placeholder} stands for the write token; the audit log records who reveals it.`
              : `${placeholder} stands for the write token; ask an editor for it.`}
          </span>
        )}
      </p>
      {reveal.error !== undefined && <Failed error={reveal.error} />}
    </>
  );
};
