import { join } from 'node:path';
import { readSnippet, type Snippet, snippets } from '../../src/config/snippets.ts';

const schemasFolder = join(import.meta.dirname, '../../schemas');

const section = (snippet: Snippet): string[] => [
  '',
  `### ${snippet.title}`,
  '',
  ...(snippet.needs === '' ? [] : [`Needs: ${snippet.needs}.`, '']),
  `\`\`\`${snippet.language}`,
  readSnippet(schemasFolder, snippet).trimEnd(),
  '```',
];

const sectionsOf = (pipeline: Snippet['pipeline']): string[] =>
  snippets.filter((snippet) => snippet.pipeline === pipeline).flatMap(section);

/** docs/receivers/snippets.md: every snippet with its example values. */
export const snippetsDocument = (): string =>
  [
    '# Set up a producer',
    '',
    '`make docs` writes this page from `src/config/snippets.ts` and `schemas/snippets`. `tidemark snippet <id>` and the console print the same',
    'texts with the address of the receiver, the data id and, for those who may see it, the token. The addresses are those of',
    '`TIDEMARK_INGRESS_PUSH_URL`, `TIDEMARK_INGRESS_OTLP_URL` and `TIDEMARK_INGRESS_GRPC_URL`; without them, the host under which the admin API was called.',
    '',
    '## Points',
    '',
    'Each sends one point to data id 1500002. The answer to it says what was wrong with a point that was refused.',
    ...sectionsOf('metrics'),
    '',
    '## Spans',
    '',
    'Each is for the application that the token belongs to. The variables and the Collector send log records and data points, too.',
    ...sectionsOf('traces'),
    '',
    '## Log records',
    ...sectionsOf('logs'),
    '',
    '## Data points of OpenTelemetry',
    ...sectionsOf('otel_metrics'),
    '',
  ].join('\n');
