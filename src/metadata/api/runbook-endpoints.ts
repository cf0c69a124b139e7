import { z } from 'zod';
import { readRunbook } from '../../config/runbook.ts';
import { notFound } from '../problem.ts';
import { type Endpoint, endpoint } from './endpoint.ts';

const tag = 'Line';

const heading = {
  name: z.string().meta({ description: 'The alarm in small letters', examples: ['tidemarkbreakeropen'] }),
  title: z.string().meta({ description: 'The alarm', examples: ['TidemarkBreakerOpen'] }),
};

const params = z.strictObject({
  name: z
    .string()
    .min(1)
    .max(100)
    .meta({ description: 'The name of an alarm, in any case', examples: ['tidemarkbreakeropen'] }),
});

/** What an operator does about each alarm: docs/runbook.md. */
export const runbookEndpoints = (runbook = readRunbook()): Endpoint[] => [
  endpoint({
    method: 'GET',
    path: '/api/v1/runbook',
    tag,
    summary: 'The entries of the runbook, one for each alarm, in the order of the document',
    role: 'viewer',
    answer: z.strictObject({ items: z.array(z.strictObject(heading)) }),
    run: async () => ({ body: { items: runbook.map(({ name, title }) => ({ name, title })) } }),
  }),
  endpoint({
    method: 'GET',
    path: '/api/v1/runbook/{name}',
    tag,
    summary: 'What an alarm means and what to do about it',
    role: 'viewer',
    params,
    answer: z
      .strictObject({ ...heading, text: z.string().meta({ description: 'Markdown' }) })
      .meta({ id: 'RunbookEntry' }),
    run: async ({ params: { name } }) => {
      const entry = runbook.find((each) => each.name === name.toLowerCase());
      if (entry === undefined) throw notFound(`an entry ${name} of the runbook`);
      return { body: entry };
    },
  }),
];
