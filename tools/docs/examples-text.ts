import { otlpSignals } from '../../src/ingress/otlp/signals.ts';
import {
  type Outcome,
  pipelineOf,
  type Receiver,
  type RequestForm,
  type ResponseForm,
} from '../../test/support/examples/examples.ts';

const lengthMax = 320;

const shortened = (text: string): string => (text.length > lengthMax ? `${text.slice(0, lengthMax)}…` : text);

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** A generator or a matcher in few words. */
const generated = (form: Record<string, unknown>): string | undefined => {
  const times = String(form['times']);
  if ('$repeat' in form) return `${written(form['$repeat'])} × ${times}`;
  if ('$list' in form) return `[${written(form['$list'])} × ${times}]`;
  if ('$raw' in form) return typeof form['$raw'] === 'string' ? form['$raw'] : written(form['$raw']);
  if ('$json' in form) return `JSON of ${written(form['$json'])}`;
  if ('$concat' in form)
    return Array.isArray(form['$concat']) ? form['$concat'].map(written).join(' + ') : '';
  if ('$fields' in form) {
    const fields = `${written(form['$fields'])}${times === '1' ? '' : ` × ${times}`}`;
    return form['and'] === undefined ? fields : `${fields} and ${written(form['and'])}`;
  }
  if ('$any' in form) return '…';
  if ('$contains' in form) return `"…${String(form['$contains'])}…"`;
  if ('$matches' in form) return `/${String(form['$matches'])}/`;
  if ('$length' in form) return `[… ${String(form['$length'])} in all]`;
  if ('$between' in form && Array.isArray(form['$between'])) return form['$between'].map(written).join('…');
  if ('$like' in form) return `${written(form['$like']).slice(0, -1)}, …}`;
  return undefined;
};

const written = (value: unknown): string => {
  if (typeof value === 'string') return /^\$[a-z_]/.test(value) ? value : JSON.stringify(value);
  if (typeof value === 'number') return Object.is(value, -0) ? '-0' : String(value);
  if (Array.isArray(value)) return `[${value.map(written).join(', ')}]`;
  if (!isObject(value)) return String(value);
  const fields = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${written(item)}`);
  return generated(value) ?? `{${fields.join(', ')}}`;
};

/** A value as JSON, with names and generators in words, truncated at `lengthMax` characters. */
export const shown = (value: unknown): string => shortened(written(value));

/** Control characters would be invisible. */
const plainText = (text: string): string => (/\p{Control}/u.test(text) ? JSON.stringify(text) : text);

/** The table of a case has what is a variable in its request. */
const isVariable = (form: unknown): form is string => typeof form === 'string';

const bodyOf = (form: RequestForm): string => {
  const { points, with: changes = {}, spans, records, data_points, otlp, json, text, base64 } = form;
  if (points !== undefined || form.with !== undefined) {
    // A variable is one of the words: the table of the case has its fields.
    const named = isVariable(changes) ? {} : changes;
    const fields = { ...(points === undefined ? {} : { data: points }), ...named };
    return Object.entries(fields)
      .map(([key, value]) => `"${key}": ${written(value)}`)
      .join(', ');
  }
  if (spans !== undefined) return `"spans": ${written(spans)}`;
  if (records !== undefined) return `"logRecords": ${written(records)}`;
  if (data_points !== undefined) return `"dataPoints": ${written(data_points)}`;
  if (otlp !== undefined) return written(otlp);
  if (json !== undefined) return written(json);
  if (typeof text === 'string') return plainText(text);
  if (text !== undefined) return written(text);
  return base64 === undefined ? '' : `base64 ${base64}`;
};

const wordsOf = (form: RequestForm): string[] => {
  const words: string[] = [];
  if (form.prefix !== undefined) words.push(`behind \`${JSON.stringify(form.prefix)}\``);
  if (form.suffix !== undefined) words.push(`before \`${JSON.stringify(form.suffix)}\``);
  if (form.cut !== undefined) words.push(`without its last ${form.cut} bytes`);
  if (form.pad_to !== undefined) words.push(`with blanks up to ${form.pad_to} bytes`);
  if (form.content_encoding !== undefined) words.push(`in Content-Encoding ${form.content_encoding}`);
  if (form.compress !== undefined) words.push(`compressed with ${form.compress}`);
  if (isVariable(form.with)) words.push(`the fields of \`${form.with}\` beside`);
  if (form.damage !== undefined) words.push(`damaged: ${form.damage.replaceAll('_', ' ')}`);
  if (form.chunks !== undefined) words.push(`in ${form.chunks} chunks`);
  return words;
};

const defaults: Readonly<Record<Receiver, string>> = {
  push: '/v2/push/',
  traces: '/v1/traces',
  logs: '/v1/logs',
  metrics: '/v1/metrics',
};

/** The parts of a request that differ from the usual one, and its body. */
export const requestOf = (receiver: Receiver, form: RequestForm): { head: string; body: string } => {
  if (isVariable(form)) return { head: `\`${form}\``, body: '' };
  const headers = isObject(form.headers)
    ? Object.entries(form.headers).map(
        ([name, value]) => `\`${name}: ${written(value).replace(/^"|"$/g, '')}\``,
      )
    : [];
  const line =
    form.method === undefined && form.path === undefined
      ? []
      : [`\`${form.method ?? 'POST'} ${form.path ?? defaults[receiver]}\``];
  const raw = form.raw_head === undefined ? [] : [`\`${shown(form.raw_head)}\``];
  const credential = form.credential === undefined ? [] : [`credential \`${form.credential}\``];
  const body = bodyOf(form);
  const parts = [...line, ...raw, ...headers, ...credential, ...wordsOf(form)];
  const isBodyless = body === '' && raw.length === 0 && form.text === undefined && !isVariable(form.points);
  return { head: [...parts, ...(isBodyless ? ['no body'] : [])].join(', '), body: shortened(body) };
};

const saidOf = ({ says, message }: ResponseForm): string => {
  if (message !== undefined) return message;
  if (says === undefined) return '…';
  return `…${(typeof says === 'string' ? [says] : says).join('…')}…`;
};

/** An answer lists deferred items among the dropped ones. */
const outcomeFields = (outcome: Outcome): string => {
  const lost = { ...Object(outcome.dropped), ...Object(outcome.deferred) };
  const dropped = typeof outcome === 'string' ? '{…}' : written(lost);
  return `"accepted":${written(outcome.accepted ?? 0)},"dropped":${dropped},"values_dropped":${written(outcome.values_dropped ?? {})}`;
};

const pushBody = (response: ResponseForm, outcome: Outcome): string => {
  const said = JSON.stringify(saidOf(response));
  const status = String(response.status);
  switch (response.body) {
    case 'success':
      return '{"code":"200","result":"true","message":""}';
    case 'refusal':
      return `{"code":"${status}","result":"false","message":${said},"reason":"${response.reason ?? ''}"}`;
    case 'outcome': {
      const examples = response.examples === undefined ? '[…]' : written(response.examples);
      const start = `{"code":"${status}","result":"${String(status === '200')}","message":${said}`;
      const reason = response.reason ?? Object.keys(Object(outcome.dropped))[0];
      const why = status === '200' ? '' : `,"reason":"${reason}"`;
      return `${start}${why},${outcomeFields(outcome)},"examples":${examples}}`;
    }
    default:
      return '';
  }
};

const otlpBody = (rejectedField: string, response: ResponseForm): string => {
  const said = JSON.stringify(saidOf(response));
  switch (response.body) {
    case 'success':
      return '{}';
    case 'refusal':
      return `{"code":${String(response.code)},"message":${said}}`;
    case 'outcome':
      return `{"partialSuccess":{"${rejectedField}":"${String(response.rejected ?? 0)}","errorMessage":${said}}}`;
    default:
      return '';
  }
};

/** Status, body and headers of an answer. */
export const answerOf = (
  receiver: Receiver,
  response: ResponseForm,
  outcome: Outcome,
): { status: string; body: string; rest: string } => {
  if (isVariable(response)) return { status: `\`${response}\``, body: '', rest: '' };
  const body =
    response.json === undefined
      ? receiver === 'push'
        ? pushBody(response, outcome)
        : otlpBody(otlpSignals[pipelineOf[receiver]].rejectedField, response)
      : written(response.json);
  const headers = Object.entries(response.headers ?? {}).filter(([, value]) => value !== '$absent');
  const rest = headers
    .map(([name, value]) => `\`${name}: ${written(value).replace(/^"|"$/g, '')}\``)
    .join(', ');
  const empty = response.body === 'empty' ? 'without a body' : '';
  return {
    status: String(response.status),
    body: shortened(body),
    rest: [rest === '' ? '' : `under ${rest}`, empty].filter((part) => part !== '').join(' '),
  };
};
