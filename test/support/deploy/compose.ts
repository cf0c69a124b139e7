import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { z } from 'zod';
import { deployFolder } from './dashboards.ts';

/** As Compose fills it where the variable is not set. */
const withDefaults = (value: string): string => value.replace(/\$\{\w+:-([^}]*)\}/g, '$1');

const dependencySchema = z.strictObject({
  condition: z.enum(['service_healthy', 'service_completed_successfully']),
});
const serviceSchema = z.looseObject({
  image: z.string(),
  command: z.array(z.string()).optional(),
  environment: z.record(z.string(), z.string()).default({}),
  ports: z.array(z.string().transform(withDefaults)).default([]),
  volumes: z.array(z.string()).default([]),
  depends_on: z.record(z.string(), dependencySchema).default({}),
  healthcheck: z.looseObject({}).optional(),
  tmpfs: z.array(z.string()).default([]),
  logging: z.looseObject({}).optional(),
  read_only: z.boolean().optional(),
  stop_grace_period: z.string().optional(),
  user: z.string().optional(),
  profiles: z.array(z.string()).default([]),
  cap_add: z.array(z.string()).default([]),
  cap_drop: z.array(z.string()).default([]),
  security_opt: z.array(z.string()).default([]),
});
const composeSchema = z.looseObject({
  services: z.record(z.string(), serviceSchema),
  volumes: z.record(z.string(), z.null()),
});

export const composeText = readFileSync(join(deployFolder, 'compose.yaml'), 'utf8');

/** deploy/compose.yaml. */
export const { services, volumes } = composeSchema.parse(parse(composeText, { merge: true }));

export const service = (name: string) => {
  const found = services[name];
  if (found === undefined) throw new Error(`no service ${name}`);
  return found;
};

/** The variables that the stack does not start without. */
export const neededVariables = [
  ...new Set([...composeText.matchAll(/\$\{(\w+):\?/g)].map(([, name = '']) => name)),
];

/** A value as Compose fills it where each variable is set to its own name with `-value` behind. */
export const filled = (value: string): string => value.replace(/\$\{(\w+):\?[^}]*\}/g, '$1-value');

export const filledEnvironment = (name: string): Record<string, string> =>
  Object.fromEntries(
    Object.entries(service(name).environment).map(([variable, value]) => [variable, filled(value)]),
  );
