import { describe, expect, it } from 'vitest';
import { examplesDocument } from '../../../tools/docs/examples.ts';
import { readTopics } from '../../support/examples/examples.ts';

describe.each(['push', 'traces'] as const)('docs/receivers/%s.md', (receiver) => {
  it('shows every case', () => {
    const forms = readTopics(receiver).flatMap(({ file }) => file.cases);
    expect(examplesDocument(receiver).match(/^### /gm)).toHaveLength(forms.length);
  });
});
