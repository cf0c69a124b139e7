import { describe, expect, it } from 'vitest';
import { examplesDocument } from '../../../tools/docs/examples.ts';
import { readTopics } from '../../support/examples/examples.ts';

it('docs/receivers/push.md names the variable with the further fields of a body, and shows the rest of it', () => {
  const [, text = ''] = examplesDocument('push').split('### A data_id is refused if it is …');
  expect(text).toMatch(/^- \*\*Sent\*\*: the fields of `\$with` beside `"data": \[\{[^`]*\}\]`$/m);
});

describe.each(['push', 'traces'] as const)('docs/receivers/%s.md', (receiver) => {
  it('shows every case', () => {
    const forms = readTopics(receiver).flatMap(({ file }) => file.cases);
    expect(examplesDocument(receiver).match(/^### /gm)).toHaveLength(forms.length);
  });
});
