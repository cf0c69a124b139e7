import type { Answer } from '../../api/client.ts';
import { column, head } from '../../parts/columns.tsx';
import { counted } from '../../parts/figures.ts';
import { Hostile } from '../../parts/hostile.tsx';
import { Table } from '../../parts/table.tsx';

export type Shown = Answer<'/api/v1/dead-letters/{id}'>;
export type Listed = Answer<'/api/v1/dead-letters'>['items'][number];

const valueText = (value: unknown): string => (typeof value === 'string' ? value : JSON.stringify(value));

/** Rows side by side, a line for each field: spans have more fields than a screen is wide. */
const Rows = ({ rows }: { rows: readonly Readonly<Record<string, unknown>>[] }) => (
  <Table
    caption="Rows as read"
    rows={[...new Set(rows.flatMap((row) => Object.keys(row)))]}
    keyOf={(field) => `f${field}`}
    empty=""
    columns={[
      head('Field', (name: string) => name),
      ...rows.map((row, index) =>
        column(
          `Row ${index + 1}`,
          (name: string) =>
            Object.hasOwn(row, name) && (
              <code>
                <Hostile text={valueText(row[name])} />
              </code>
            ),
        ),
      ),
    ]}
  />
);

const linesMax = 400;

/** Indented where it is JSON, else as it is. */
const linesOf = (text: string): string[] => {
  try {
    return JSON.stringify(JSON.parse(text), null, 2).split('\n');
  } catch {
    return text.trimEnd().split('\n');
  }
};

const Lines = ({ text }: { text: string }) => {
  const lines = linesOf(text);
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: a frame that scrolls has to be reached by keys.
    <section class="code" aria-label="Content as read" tabIndex={0}>
      <pre>
        {lines.slice(0, linesMax).map((line, index) => (
          <div key={index}>{line === '' ? ' ' : <Hostile text={line} max={1000} />}</div>
        ))}
      </pre>
      {lines.length > linesMax && (
        <p class="state">
          The first {linesMax} of {lines.length} lines are shown.
        </p>
      )}
    </section>
  );
};

/** What the dead letter holds, as the API shows it: truncated, values under names of secrets masked. */
export const Content = ({ shown: { form, rows, text = '', cut } }: Pick<Shown, 'shown'>) => (
  <>
    {rows === undefined ? <Lines text={text} /> : <Rows rows={rows} />}
    {form === 'base64' && <p class="state">Neither rows nor text: the bytes are shown in base64.</p>}
    {cut > 0 && (
      <p class="state">
        {counted(cut, form === 'rows' ? 'row' : 'byte')} more {cut === 1 ? 'is' : 'are'} not shown.
      </p>
    )}
  </>
);
