import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';
import { deployFolder } from './dashboards.ts';

/** An hour of the rules is a minute here. */
const factor = 60;

const unitSeconds: Readonly<Record<string, number>> = { s: 1, m: 60, h: 3600, d: 86_400 };

/** A duration of Prometheus a sixtieth as long, at least `leastSeconds`; 0 stays 0. */
const shorter = (text: string, leastSeconds: number): string => {
  const [, count = '0', unit = 's'] = /^(\d+)([smhd])$/.exec(text) ?? [];
  const seconds = Number(count) * (unitSeconds[unit] ?? 1);
  return seconds === 0 ? '0s' : `${Math.max(leastSeconds, Math.round(seconds / factor))}s`;
};

/** A window has to hold some scrapes, which come each second. */
const windowSecondsMin = 5;

const shortExpression = (expression: string): string =>
  expression
    .replaceAll(/\[(\d+[smhd])\]/g, (_, window: string) => `[${shorter(window, windowSecondsMin)}]`)
    .replaceAll(/offset (\d+[smhd])/g, (_, window: string) => `offset ${shorter(window, windowSecondsMin)}`);

const ruleSchema = z.looseObject({ alert: z.string(), expr: z.string(), for: z.string() });
const rulesSchema = z.looseObject({
  groups: z.array(z.looseObject({ rules: z.array(ruleSchema) })),
});

/** A text of an alarm's expression and what stands for it, where its threshold is out of reach of a test. */
export type Lowered = Readonly<Record<string, readonly (readonly [from: string, to: string])[]>>;

const withLowered = (alert: string, expression: string, lowered: Lowered): string => {
  let text = expression;
  for (const [from, to] of lowered[alert] ?? []) {
    if (!text.includes(from)) throw new Error(`${alert} has no ${from}`);
    text = text.replaceAll(from, to);
  }
  return text;
};

/**
 * The shipped rules with every window, offset and `for` a sixtieth as long, and with some thresholds lowered, into a folder `rules`
 * beside the configuration. Nothing else of a rule changes.
 */
export const writeShortRules = (folder: string, lowered: Lowered): void => {
  const text = readFileSync(join(deployFolder, 'prometheus/rules/tidemark.yaml'), 'utf8');
  const { groups, ...rest } = rulesSchema.parse(parse(text));
  const short = {
    ...rest,
    groups: groups.map((group) => ({
      ...group,
      rules: group.rules.map((rule) => ({
        ...rule,
        expr: shortExpression(withLowered(rule.alert, rule.expr.replaceAll(/\s+/g, ' '), lowered)),
        for: shorter(rule.for, 1),
      })),
    })),
  };
  mkdirSync(join(folder, 'rules'), { recursive: true });
  writeFileSync(join(folder, 'rules/tidemark.yaml'), stringify(short));
};
