import type { ComponentChildren } from 'preact';
import { useGet } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Code } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { Await } from '../../parts/states.tsx';
import { useQueryState } from '../../shell/router.ts';

/** The parameter of the address that opens an entry. */
export const runbookQuery = 'runbook';

/** Bold, emphasis and code of a paragraph as elements. */
const inline = (text: string): ComponentChildren[] =>
  text.split(/(\*\*[^*]+\*\*|`[^`]+`|\*[^*]+\*)/).map((part) => {
    if (part.startsWith('**')) return <strong>{part.slice(2, -2)}</strong>;
    if (part.startsWith('`')) return <code>{part.slice(1, -1)}</code>;
    return part.startsWith('*') && part.length > 2 ? <em>{part.slice(1, -1)}</em> : part;
  });

const Block = ({ text }: { text: string }) => {
  if (text.startsWith('```')) return <Code text={text.split('\n').slice(1, -1).join('\n')} what="Commands" />;
  if (/^(?:- |\d+\. )/.test(text))
    return (
      <ul>
        {text.split(/\n(?=- |\d+\. )/).map((line) => (
          <li key={line}>{inline(line.replace(/^(?:- |\d+\. )/, ''))}</li>
        ))}
      </ul>
    );
  return <p>{inline(text)}</p>;
};

const Entry = ({ name, onClose }: { name: string; onClose: () => void }) => {
  const entry = useGet('/api/v1/runbook/{name}', { path: { name } });
  return (
    <Dialog title={entry.data?.title ?? 'Runbook'} onClose={onClose}>
      <Await of={entry}>
        {({ text }) =>
          (text.match(/```.*?```|(?:(?!\n\n|```).)+/gs) ?? [])
            .map((block) => block.trim())
            .filter((block) => block !== '')
            .map((block) => <Block key={block} text={block} />)
        }
      </Await>
      <Button onClick={onClose}>Close</Button>
    </Dialog>
  );
};

/** The entry of the runbook that the address names. */
export const Runbook = () => {
  const [name, setName] = useQueryState(runbookQuery);
  return name === '' ? null : <Entry name={name} onClose={() => setName('')} />;
};
