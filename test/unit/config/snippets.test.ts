import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { loadSettings } from '../../../src/config/settings.ts';
import { fillSnippet, readSnippet, type Snippet, snippets } from '../../../src/config/snippets.ts';
import { receiversOf } from '../../../src/metadata/inspect/receivers.ts';
import { readDocument, root } from '../../support/docs-code.ts';

const schemas = join(root, 'schemas');
const read = (snippet: Snippet): string => readSnippet(schemas, snippet);
const values = {
  push: 'https://p.example.com',
  otlp: 'https://o.example.com',
  grpc: 'https://g.example.com',
  dataId: 1_600_001,
  token: 'f'.repeat(32),
};

describe('a snippet', () => {
  it.each(snippets)(
    'of $pipeline for $name has each of its example values, and no other address',
    (snippet) => {
      const filled = fillSnippet(read(snippet), values);
      const isPush = snippet.pipeline === 'metrics';
      const traces = snippet.isGrpc === true ? 'https://g.example.com' : 'https://o.example.com';
      expect(filled).toContain(isPush ? 'https://p.example.com/v2/push/' : traces);
      expect(filled).toContain(values.token);
      if (isPush) expect(filled).toContain('1600001');
      expect(filled).not.toMatch(/<token>|1500002|127\.0\.0\.1:(10205|431[78])/);
    },
  );

  // With another ending Node takes the text for a script, which may neither import nor await.
  it.each(snippets.filter(({ language }) => ['js', 'python', 'go', 'java'].includes(language)))(
    'of $pipeline for $name says under which name it is saved and what runs it',
    ({ file, needs }) => {
      expect(needs).toContain(basename(file));
      expect(needs).toMatch(/`(node|python3|go run|java) [^`]+` runs it$/);
    },
  );

  it('is listed once, and every file is listed', () => {
    const files = ['metrics', 'traces', 'logs', 'otel_metrics'].flatMap((folder) =>
      readdirSync(join(schemas, 'snippets', folder)).map((name) => `${folder}/${name}`),
    );
    expect(snippets.map(({ file }) => file).toSorted()).toEqual(files.toSorted());
    expect(new Set(snippets.map(({ pipeline, name }) => `${pipeline} ${name}`)).size).toBe(snippets.length);
  });

  // The user of the package and of the image cannot make it: the Collector did not start.
  it('for the Collector says who has to be able to write its folder, with the line that makes it', () => {
    const snippet = snippets.find(({ name }) => name === 'collector');
    const [, folder = ''] = /directory: ([^ ,]+)/.exec(snippet === undefined ? '' : read(snippet)) ?? [];
    expect(folder).toMatch(/^\//);
    expect(snippet?.needs).toContain(`install -d -o otelcol-contrib ${folder}\``);
    expect(snippet?.needs).toMatch(/in a container a volume .* user 10001/);
  });

  // Two processes with one resource share a series: a growth from the value of the other one is none. In Python the SDK sets the id.
  it.each(['javascript-logs', 'javascript-metrics', 'go-metrics', 'java-metrics'])(
    'for %s tells the processes of a service apart',
    (name) => {
      const snippet = snippets.find((one) => one.name === name);
      expect(snippet === undefined ? '' : read(snippet)).toMatch(
        /["']service\.instance\.id["'].*(uuid|rand|UUID)/,
      );
    },
  );

  it('keeps the example of a value that is not given, and fills no value into another', () => {
    expect(fillSnippet('<token> 1500002', { push: '', otlp: '' })).toBe('<token> 1500002');
    const token = '1500002<token>';
    expect(fillSnippet('<token> 1500002', { push: '', otlp: '', dataId: 7, token })).toBe(`${token} 7`);
  });

  it('of curl is the one of the README', () => {
    const [curl] = snippets;
    expect(curl === undefined ? '' : read(curl).trim()).toMatch(/^curl/);
    expect(readDocument('README.md')).toContain(curl === undefined ? '' : read(curl).trim());
  });
});

describe('the addresses of the receivers', () => {
  const of = (env: NodeJS.ProcessEnv, host?: string) => receiversOf(loadSettings(env))(host);

  it.each([
    ['metrics.example.com:10300', 'http://metrics.example.com:10205'],
    ['[::1]:10300', 'http://[::1]:10205'],
    ['10.0.0.7', 'http://10.0.0.7:10205'],
    [undefined, 'http://127.0.0.1:10205'],
    ["a'; rm -rf ~ #", 'http://127.0.0.1:10205'],
    ['a"b:80', 'http://127.0.0.1:10205'],
    ['$(id)', 'http://127.0.0.1:10205'],
  ])('for a call of %s are at its name, and nothing else becomes a part of a command', (host, push) => {
    expect(of({}, host).push).toBe(push);
  });

  it('are those of the settings, and https where the receivers have a certificate', () => {
    const env = { TIDEMARK_INGRESS_PUSH_URL: 'https://in.example.com/metrics/' };
    expect(of(env, 'x')).toEqual({
      push: 'https://in.example.com/metrics',
      otlp: 'http://x:4318',
      grpc: 'http://x:4317',
    });
    expect(of({ TIDEMARK_INGRESS_GRPC_PORT: 'off' }, 'x').grpc).toBeUndefined();
    const tls = { TIDEMARK_INGRESS_TLS_CERT_FILE: 'c.pem', TIDEMARK_INGRESS_TLS_KEY_FILE: 'k.pem' };
    expect(of(tls, 'x').otlp).toBe('https://x:4318');
  });

  it.each([
    "https://a.example.com/'",
    'https://user:pass@a.example.com',
    'https://a.example.com/?k=1',
    'a.example.com',
  ])('are refused by the settings as %s', (url) => {
    expect(() => loadSettings({ TIDEMARK_INGRESS_OTLP_URL: url })).toThrow(/is not an address/);
  });
});
