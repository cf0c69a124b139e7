import { Command } from 'commander';
import { afterEach, expect, it, vi } from 'vitest';
import { register } from '../../../src/cli/snippet.ts';

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllGlobals();
  vi.unstubAllEnvs();
});

const snippetOf = (name: string) => ({ name, title: `${name}!`, needs: '', text: `run ${name}`, more: 1 });
const answer = { items: ['curl', 'go'].map(snippetOf) };

const printed = async (...args: string[]): Promise<string> => {
  let text = '';
  vi.stubEnv('TIDEMARK_ADMIN_URL', 'http://127.0.0.1:1');
  vi.stubEnv('TIDEMARK_ADMIN_TOKEN', 'ab'.repeat(32));
  vi.stubGlobal('fetch', async () => Response.json(answer));
  vi.spyOn(process.stdout, 'write').mockImplementation((chunk) => {
    text += String(chunk);
    return true;
  });
  const program = new Command();
  register(program);
  await program.parseAsync(['snippet', '1500001', ...args], { from: 'user' });
  return text;
};

it('--for chooses one of the snippets in JSON, too', async () => {
  expect(JSON.parse(await printed('--json', '--for', 'go'))).toEqual({ items: [snippetOf('go')] });
  expect(JSON.parse(await printed('--json'))).toEqual(answer);
  expect(await printed('--for', 'go')).toBe('run go\n');
  for (const more of [[], ['--json']])
    await expect(printed('--for', 'nonsense', ...more)).rejects.toMatchObject({
      code: 'not_found',
      message: 'no snippet nonsense: one of curl, go',
    });
});
