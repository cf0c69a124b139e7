import type { ApplicationPipeline } from '../../../src/model/signals.ts';
import { nanosAt } from '../../support/otlp/trace-source.ts';
import { pushCredential, tokenKey } from './credentials.ts';
import type { Part } from './parts.ts';
import { field, fixed64Hex, hex } from './protobuf-parts.ts';
import type { Grow, Rule, Rules } from './rules.ts';
import { protobufItemRules } from './rules-otlp-protobuf-items.ts';

const now = fixed64Hex(nanosAt(-1000));
const late = fixed64Hex('9000000000000000000');

const tokenAttribute = field(1, { all: [field(1, tokenKey), field(2, field(1, pushCredential.token))] });
const tokens = field(1, { all: [field(1, tokenKey), field(2, field(1, 'token #'))] });

const allBytes = '\u0000-\u00ff';

/** Fields of these rules, most of them, now and then with others among them. */
const message = (grow: Grow, ...names: readonly string[]): Part =>
  grow.some(
    [...names, ...(grow.chance(5) ? ['unknown'] : [])].map((name) => grow.of(name)),
    '',
  );

const rules: Record<string, Rule> = {
  body: (grow) =>
    grow.mostly(
      () => grow.many('resourceSpans', ''),
      () => ({ all: [grow.many('unknown', ''), grow.of('resourceSpans')] }),
      () => ({ all: [grow.many('resourceSpans', ''), grow.many('resourceSpans', '')] }),
      () => ({ all: [grow.of('resourceSpans'), grow.many('unknown', '')] }),
      () => ({ all: [grow.many('resourceSpans', ''), hex('0aff')] }),
    ),
  resourceSpans: (grow) =>
    field(
      1,
      grow.mostly(
        () => ({ all: [grow.of('resource'), grow.many('scopeSpans', '')] }),
        () => grow.of('resource'),
        () => ({ all: [grow.many('scopeSpans', ''), grow.of('resource')] }),
        () => message(grow, 'resource', 'scopeSpans', 'unknown'),
        () => '',
      ),
    ),
  resource: (grow) =>
    grow.mostly(
      () => field(1, { all: [tokenAttribute, grow.many('resource attribute', '')] }),
      () => field(1, { all: [grow.many('resource attribute', ''), tokenAttribute] }),
      () => ({ all: [field(1, tokenAttribute), { repeat: field(1, grow.of('resource attribute')) }] }),
      () => ({ repeat: field(1, tokens) }),
      () => ({ all: [field(1, tokenAttribute), { repeat: hex('0a00'), times: grow.count(20_000) }] }),
      () => field(1, ''),
    ),
  'resource attribute': (grow) => field(1, grow.of('keyValue')),
  scopeSpans: (grow) =>
    field(
      2,
      grow.mostly(
        () => ({
          all: [field(1, { all: [field(1, grow.of('text')), field(2, '1')] }), grow.many('span', '')],
        }),
        () => grow.many('span', ''),
        () => ({ all: [grow.many('span', ''), grow.many('scope', '')] }),
        () => ({ repeat: hex('1200') }),
        () => '',
      ),
    ),
  scope: (grow) =>
    field(
      1,
      grow.mostly(
        () => field(1, grow.of('text')),
        () => grow.many('unknown', ''),
        () => '',
      ),
    ),
  span: (grow) =>
    field(
      2,
      grow.mostly(
        () => ({
          all: [
            grow.of('ids'),
            grow.of('times'),
            message(grow, 'name', 'attributes', 'events', 'links', 'status', 'odd'),
          ],
        }),
        () => ({ all: [grow.of('ids'), grow.of('times')] }),
        () => ({ all: [grow.of('ids'), grow.of('times'), grow.of('attributes')] }),
        () => grow.many('unknown', ''),
        () => '',
      ),
    ),
  ids: (grow) =>
    grow.mostly(
      () => ({
        all: [hex('0a10'), { noise: '1-8', bytes: 16 }, hex('1208'), { noise: '\u0001-\u00ff', bytes: 8 }],
      }),
      () => hex(`0a10${'00'.repeat(16)}1208${'00'.repeat(8)}`),
      () => ({ repeat: hex('0a00') }),
      () => ({
        all: [
          { repeat: hex('0a1000112233445566778899aabbccddeeff'), times: grow.count(500) },
          hex('12080011223344556677'),
        ],
      }),
    ),
  times: (grow) =>
    grow.mostly(
      () => hex(`39${now}41${now}`),
      () => hex(`39${late}41${late}`),
      () => ({ all: [hex('39000000'), { noise: allBytes, bytes: 3 }, hex(`d51841${now}`)] }),
      () => ({ repeat: hex(`39${now}`), times: grow.count(3000) }),
      () => hex('390000000000000000'),
    ),
  name: (grow) =>
    field(
      5,
      grow.mostly(
        () => grow.pick('GET /', 'GET /#'),
        () => grow.of('text'),
      ),
    ),
  status: (grow) => field(15, { all: [field(2, grow.of('text')), hex('1802')] }),
  odd: (grow) =>
    grow.pick<Part>(
      hex('3002'),
      hex('30ffffffffffffffffff01'),
      { repeat: hex('3002') },
      { repeat: field(15, ''), times: grow.count(2000) },
      field(3, grow.of('text')),
      { repeat: field(5, 'a'), times: grow.count(2000) },
    ),
  attributes: (grow) => ({
    repeat: field(9, grow.of('keyValue')),
    each: grow.count(2048),
    ...(grow.chance(2) ? { times: grow.count(130) } : {}),
  }),
  keyValue: (grow) =>
    grow.mostly(
      () => ({
        all: [
          field(
            1,
            grow.mostly(
              () => grow.pick('k#', 'http.method'),
              () => grow.of('text'),
            ),
          ),
          field(2, grow.of('any')),
        ],
      }),
      () => ({ all: [field(2, grow.of('any')), field(1, 'k')] }),
      () => ({ all: [field(1, 'k'), { repeat: field(2, grow.of('any')) }] }),
      () => ({ all: [{ repeat: field(1, 'k') }, field(2, '')] }),
      () => grow.many('unknown', ''),
      () => '',
    ),
  any: (grow) =>
    grow.pick<() => Part>(
      () => field(1, 'v#'),
      () => field(1, grow.of('text')),
      () => field(1, grow.of('text')),
      () => hex('1805'),
      () => hex('18ffffffffffffffffff01'),
      () => hex('1001'),
      () =>
        hex(
          `21${grow.pick('000000000000f03f', '9a9999999999b93f', '000000000000f87f', '0100000000000000', 'ffffffffffffef7f')}`,
        ),
      () => field(7, { noise: allBytes }),
      () => field(5, { repeat: field(1, grow.of('any')), each: grow.count(512) }),
      () => field(6, { repeat: field(1, grow.of('keyValue')), each: grow.count(512) }),
      () => ({ fields: [5, 1], of: grow.of('any'), depth: grow.count(40) }),
      () => ({ fields: [5, 1], of: '', depth: 'room' }),
      () => ({ fields: [6, 1, 2], of: grow.of('any'), depth: grow.count(40) }),
      () => ({
        repeat: hex(grow.pick('0a00', '1801', '1001', '2a00', '3200', '3a00', '21000000000000f03f')),
      }),
      () => ({ repeat: field(5, field(1, grow.of('any'))) }),
      () => ({ repeat: field(6, field(1, grow.of('keyValue'))) }),
      () => field(5, { repeat: hex('0a00') }),
      () => field(6, { repeat: hex('0a00') }),
      () => grow.of('unknown'),
    )(),
  text: (grow) =>
    grow.pick<() => Part>(
      () => 'text',
      () => ({ repeat: grow.pick('a', 'é', '漢', '😀', '"', '\\', '\u0000', '\n', '…') }),
      () => ({ repeat: grow.pick('a', 'é', '"', '\u0000'), times: grow.count(5000) }),
      () => ({ noise: 'a-z' }),
      () => ({ noise: allBytes }),
      () => ({ repeat: hex(grow.pick('ff', 'c3', 'eda080', 'f0908080')) }),
      () => ({ all: [{ repeat: 'n', times: grow.count(300) }, '#'] }),
    )(),
  events: (grow) => ({
    repeat: field(11, grow.of('event')),
    each: grow.count(1024),
    ...(grow.chance(2) ? { times: grow.count(130) } : {}),
  }),
  event: (grow) =>
    grow.mostly(
      () => ({
        all: [
          hex(`09${now}`),
          field(2, grow.of('text')),
          { repeat: field(3, grow.of('keyValue')), each: grow.count(256) },
        ],
      }),
      () => ({ all: [hex(`09${now}`), field(2, 'e#')] }),
      () => '',
    ),
  links: (grow) => ({
    repeat: field(13, grow.of('link')),
    each: grow.count(1024),
    ...(grow.chance(2) ? { times: grow.count(130) } : {}),
  }),
  link: (grow) =>
    grow.mostly(
      () => ({
        all: [
          grow.of('ids'),
          field(3, grow.of('text')),
          { repeat: field(4, grow.of('keyValue')), each: grow.count(256) },
        ],
      }),
      () => grow.of('ids'),
      () => '',
    ),
  unknown: (grow) =>
    grow.pick<() => Part>(
      () => hex('a80601'),
      () => hex('a806ffffffffffffffffff01'),
      () => hex('7801'),
      () => hex('c20600'),
      () => hex('83068406'),
      () => ({ nest: ['\u0003', '\u0004'], of: '', depth: grow.count(100) }),
      () => ({ all: [hex('8306'), { repeat: hex('0801') }, hex('8406')] }),
      () => field(100, { noise: allBytes }),
      () => ({ repeat: hex(grow.pick('7801', '7a00', '7d00000000')) }),
    )(),
};

/** Bodies of a signal of OTLP in protobuf, and what looks like them. */
export const otlpProtobufRules = (pipeline: ApplicationPipeline): Rules => ({
  all: { ...rules, ...(pipeline === 'traces' ? {} : protobufItemRules[pipeline]) },
  leaf: (grow) => grow.pick<Part>('', 'k', hex('1801'), hex('0a00')),
});
