import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { examplesDocument } from '../../../tools/docs/examples.ts';
import { readTopics } from '../../support/examples/examples.ts';

describe.each(['push', 'traces'] as const)('docs/receivers/%s.md', (receiver) => {
  // A reference that says something else than the receiver does costs its readers more than none.
  it('is what the cases say; else run node tools/docs/write-examples.ts', () => {
    const file = join(import.meta.dirname, '../../../docs/receivers', `${receiver}.md`);
    expect(readFileSync(file, 'utf8')).toBe(examplesDocument(receiver));
  });

  it('shows every case', () => {
    const forms = readTopics(receiver).flatMap(({ file }) => file.cases);
    expect(examplesDocument(receiver).match(/^### /gm)).toHaveLength(forms.length);
  });
});
