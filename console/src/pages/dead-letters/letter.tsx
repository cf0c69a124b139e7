import { useState } from 'preact/hooks';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Facts } from '../../parts/facts.tsx';
import { counted } from '../../parts/figures.ts';
import { Figure, Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { OwnerLink } from '../../parts/owners.tsx';
import { Await, Badge } from '../../parts/states.tsx';
import { href, navigate } from '../../shell/router.ts';
import { useAllows } from '../../shell/session.ts';
import { ActDialog } from './act-dialog.tsx';
import type { Act } from './bulk.ts';
import { Content, type Shown } from './content.tsx';

/** Whether it is an orphan, in words. */
export const OrphanBadge = ({ orphan }: { orphan: boolean | null }) => {
  if (orphan === null) return <Badge>orphan: unknown</Badge>;
  return orphan ? <Badge tone="warn">orphan</Badge> : null;
};

const orphanText = (orphan: boolean | null): string => {
  if (orphan === null) return 'Not known while ClickHouse does not answer';
  return orphan
    ? 'Yes: its items have another outcome already. Its redrive and its purge change no count. Purge it.'
    : 'No';
};

const History = ({ sequence, redrives }: { sequence: number; redrives: number }) => {
  const query = { target_kind: 'dead_letter', target_id: String(sequence), limit: 20 };
  const loaded = useGet('/api/v1/audit', { query });
  return (
    <>
      <h2>History</h2>
      <p>
        {redrives === 0
          ? 'It was never redriven.'
          : `Its items were redriven ${redrives === 1 ? 'once' : `${redrives} times`} before, and refused again.`}
      </p>
      <Await of={loaded}>
        {({ items }) =>
          items.length > 0 && (
            <ul>
              {items.map(({ audit_id: id, at, actor, action, outcome, code }) => (
                <li key={id}>
                  <Time at={at} seconds /> <code>{action}</code> by <Hostile text={actor.name} />: {outcome}
                  {code !== undefined && (
                    <>
                      , <code>{code}</code>
                    </>
                  )}
                </li>
              ))}
            </ul>
          )
        }
      </Await>
    </>
  );
};

const LetterFacts = ({ letter }: { letter: Shown }) => (
  <Facts
    of={{
      'Dead-lettered': <Time at={letter.at} seconds />,
      Reason: (
        <a href={href('/system/reasons', { search: letter.reason })}>
          <code>{letter.reason}</code>
        </a>
      ),
      Error: <Hostile text={letter.error} max={1000} />,
      Owner: <OwnerLink of={letter} none="not known" />,
      Table: letter.table !== null && <Hostile text={letter.table} />,
      Message: (
        <>
          {letter.stream} <Figure value={letter.stream_sequence} />, subject <Hostile text={letter.subject} />
          {letter.uid !== null && (
            <>
              , uid <Hostile text={letter.uid} />
            </>
          )}
        </>
      ),
      Size: (
        <>
          {counted(letter.items, 'item')}, <Figure value={letter.bytes} as="bytes" />
        </>
      ),
      Orphan: orphanText(letter.orphan),
      'Can be redriven': letter.is_redrivable ? 'Yes' : 'No: the dry run says why',
    }}
  />
);

/** One dead letter: what it holds, why it is one, and what can be done. */
export const Letter = ({ sequence }: { sequence: number }) => {
  const loaded = useGet('/api/v1/dead-letters/{id}', { path: { id: sequence } });
  const [act, setAct] = useState<Act>();
  const mayRedrive = useAllows('editor');
  const mayPurge = useAllows('admin');
  return (
    <>
      <h1>Dead letter {sequence}</h1>
      <p>
        <a href={href('/dead-letters')}>All dead letters</a>
      </p>
      <Await of={loaded}>
        {(letter) => (
          <>
            <LetterFacts letter={letter} />
            <p class="row">
              {mayRedrive && <Button onClick={() => setAct('redrive')}>Redrive …</Button>}
              {mayPurge && (
                <Button class="danger" onClick={() => setAct('purge')}>
                  Purge …
                </Button>
              )}
            </p>
            <h2>Content</h2>
            <Content shown={letter.shown} />
            <History sequence={sequence} redrives={letter.redrives} />
          </>
        )}
      </Await>
      {act !== undefined && (
        <ActDialog
          act={act}
          target={{ sequences: [sequence] }}
          what={`dead letter ${sequence}`}
          onClose={(hasActed) => {
            setAct(undefined);
            if (hasActed) navigate(href('/dead-letters'));
          }}
        />
      )}
    </>
  );
};
