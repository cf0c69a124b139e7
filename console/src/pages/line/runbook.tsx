import type { ComponentChildren } from 'preact';
import runbook from '../../../../docs/runbook.md?raw';
import { Code } from '../../parts/copy.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { useQueryState } from '../../shell/router.ts';

/** The parameter of the address that opens an entry. */
export const runbookQuery = 'runbook';

/** The entries of docs/runbook.md by their anchor, in the order of the document. */
const entries = new Map(
  runbook
    .split(/^### /m)
    .slice(1)
    .map((text): [string, string] => {
      const [title = '', ...lines] = text.replace(/\n## .*$/s, '').split('\n');
      return [title.trim().toLowerCase(), [title.trim(), ...lines].join('\n')];
    }),
);

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

/** The entry of the runbook that the address names. */
export const Runbook = () => {
  const [name, setName] = useQueryState(runbookQuery);
  const entry = entries.get(name);
  if (entry === undefined) return null;
  const [title = '', ...rest] = entry.split('\n');
  const blocks = rest.join('\n').match(/```.*?```|(?:(?!\n\n|```).)+/gs) ?? [];
  return (
    <Dialog title={title} onClose={() => setName('')}>
      {blocks
        .map((block) => block.trim())
        .filter((block) => block !== '')
        .map((block) => (
          <Block key={block} text={block} />
        ))}
      <button type="button" onClick={() => setName('')}>
        Close
      </button>
    </Dialog>
  );
};
