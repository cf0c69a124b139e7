import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { Facts } from '../../parts/facts.tsx';
import { durationText, numberText, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Badge, Empty, TooLarge } from '../../parts/states.tsx';
import { href } from '../../shell/router.ts';
import { attributeText, isFindable } from './search.ts';
import type { TraceAnswer } from './tree.ts';
import { endOf, type Oddity, type Row, type Span } from './tree.ts';

type Pair = { readonly key: string; readonly value: string };

const shownMax = 200;

/** What is odd, in a word for the row and in a sentence. */
export const oddWords: Readonly<Record<Oddity, readonly [word: string, sentence: string]>> = {
  orphan: [
    'no parent',
    'Its parent is not among the spans: it was dropped, is under way, or was never sent.',
  ],
  cycle: ['ring', 'Its parents lead back to it: the ids of these spans are wrong.'],
  repeated: ['id again', 'An earlier span of this trace has the same id.'],
  before: ['clock', 'It begins before its parent: the clocks of the two hosts differ.'],
  after: ['clock', 'It begins after its parent ended: it ran apart, or two clocks differ.'],
};

const Attributes = ({
  title,
  pairs,
  find,
}: {
  title: string;
  pairs: readonly Pair[];
  find?: (pair: Pair) => string;
}) => (
  <>
    <h3>
      {title} ({numberText(pairs.length)})
    </h3>
    {pairs.length === 0 ? (
      <Empty>None.</Empty>
    ) : (
      <dl class="attributes">
        {pairs.slice(0, shownMax).map((pair, index) => (
          <div key={index}>
            <dt>
              <Hostile text={pair.key} max={80} />
            </dt>
            <dd>
              <Hostile text={pair.value} />
              <span class="row">
                <Copy text={pair.value} what={plainText(pair.key, 40)} />
                {find !== undefined && isFindable(pair) && (
                  <a href={find(pair)} aria-label={`Filter by this ${plainText(pair.key, 40)}`}>
                    Filter by this
                  </a>
                )}
              </span>
            </dd>
          </div>
        ))}
      </dl>
    )}
    {pairs.length > shownMax && (
      <TooLarge shown={shownMax} total={pairs.length} how="The others are in ClickHouse." />
    )}
  </>
);

const hourSeconds = 3_600;

const Events = ({ span }: { span: Span }) => (
  <>
    {span.events.slice(0, shownMax).map((event, index) => (
      <Attributes
        key={index}
        title={`Event at ${durationText(event.offset_ns / 1e6)}: ${plainText(event.name)}`}
        pairs={event.attributes}
      />
    ))}
    {span.links.slice(0, shownMax).map((link, index) => (
      <section key={index}>
        <h3>Link</h3>
        <p>
          {/^[0-9a-f]{32}$/.test(link.trace_id) ? (
            <a href={href(`/traces/${link.trace_id}`)}>{link.trace_id}</a>
          ) : (
            <Hostile text={link.trace_id} />
          )}{' '}
          span <Hostile text={link.span_id} />
        </p>
        <Attributes title="Attributes of the link" pairs={link.attributes} />
      </section>
    ))}
  </>
);

export const SpanPanel = ({ row, trace, onClose }: { row: Row; trace: TraceAnswer; onClose: () => void }) => {
  const { span, oddities } = row;
  const startMs = (Number(trace.start_unix_nano) + span.offset_ns) / 1e6;
  const around = {
    since: String(Math.floor(startMs / 1000) - hourSeconds),
    until: String(Math.ceil(startMs / 1000) + hourSeconds),
  };
  const findIn =
    (scope: 'span' | 'resource') =>
    (pair: Pair): string =>
      href('/traces', { ...around, attr: attributeText({ scope, ...pair }) });
  return (
    <section class="span-panel" aria-label="Span">
      <p class="row">
        <Button onClick={onClose}>Close</Button>
        <a href={href('/traces', { ...around, service: span.service, name: span.name })}>
          Filter by this service and name
        </a>
      </p>
      <h2>
        <Hostile text={span.name} />
      </h2>
      {oddities.map((each) => (
        <p key={each}>
          <Badge tone="warn">{oddWords[each][0]}</Badge> {oddWords[each][1]}
        </p>
      ))}
      <Facts
        of={{
          Service: <Hostile text={span.service} />,
          Status: (
            <>
              {row.isFailed ? <Badge tone="bad">Error</Badge> : span.status}{' '}
              {span.status_message !== '' && <Hostile text={span.status_message} />}
            </>
          ),
          Duration: `${durationText(span.duration_ns / 1e6)}, from ${durationText(span.offset_ns / 1e6)} to ${durationText(endOf(span) / 1e6)}`,
          Start: <Time at={startMs} ms />,
          Kind: span.kind,
          'Span id': (
            <span class="row">
              <code>{span.span_id}</code> <Copy text={span.span_id} what="the span id" />
            </span>
          ),
          Parent: span.parent_span_id === '' ? 'none: a root' : <code>{span.parent_span_id}</code>,
          Application: <a href={href(`/applications/${span.app_id}`)}>{span.app_id}</a>,
          Scope: <Hostile text={`${span.scope.name} ${span.scope.version}`.trim()} />,
          'Trace state': span.trace_state !== '' && <Hostile text={span.trace_state} />,
        }}
      />
      <Attributes title="Attributes" pairs={span.attributes} find={findIn('span')} />
      <Events span={span} />
      <Attributes title="Resource" pairs={trace.resources[span.resource] ?? []} find={findIn('resource')} />
    </section>
  );
};
