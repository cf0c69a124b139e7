import { readdirSync, readFileSync } from 'node:fs';
import { basename, join } from 'node:path';
import { parse, stringify } from 'yaml';
import { z } from 'zod';

const folder = join(import.meta.dirname, '../../deploy/prometheus/rules');
const rulesSchema = z.strictObject({ groups: z.array(z.looseObject({ name: z.string() })) });

/** The rules of deploy/prometheus as objects of the Prometheus operator, one for each file, with the label by which its chart finds them. */
export const prometheusRules = (): string => {
  const objects = readdirSync(folder)
    .filter((file) => file.endsWith('.yaml'))
    .toSorted()
    .map((file) => ({
      apiVersion: 'monitoring.coreos.com/v1',
      kind: 'PrometheusRule',
      metadata: { name: basename(file, '.yaml'), labels: { release: 'kube-prometheus-stack' } },
      spec: rulesSchema.parse(parse(readFileSync(join(folder, file), 'utf8'))),
    }));
  const text = objects.map((object) => stringify(object, { lineWidth: 120 })).join('---\n');
  return `# Made by \`make docs\` of deploy/prometheus/rules: change those.\n${text}`;
};
