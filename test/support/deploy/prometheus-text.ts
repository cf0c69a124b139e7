/** One line of a Prometheus exposition. */
export type Sample = {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
};

const linePattern = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})? (\S+)/;
const labelPattern = /([a-zA-Z_]\w*)="((?:[^"\\]|\\.)*)"/g;

const numberOf = (text: string): number => (text === '+Inf' ? Number.POSITIVE_INFINITY : Number(text));

/** The samples of an exposition, and the kind of each family. Throws for a line that is neither. */
export const readExposition = (text: string): { samples: Sample[]; kinds: Map<string, string> } => {
  const samples: Sample[] = [];
  const kinds = new Map<string, string>();
  for (const line of text.split('\n')) {
    const kind = /^# TYPE (\S+) (\S+)/.exec(line);
    if (kind !== null) kinds.set(kind[1] ?? '', kind[2] ?? '');
    if (line === '' || line.startsWith('#')) continue;
    const [, name, labels = '', value] = linePattern.exec(line) ?? [];
    if (name === undefined || value === undefined) throw new Error(`no line of an exposition: ${line}`);
    const pairs = [...labels.matchAll(labelPattern)].map(([, label = '', text = '']) => [label, text]);
    samples.push({ name, labels: Object.fromEntries(pairs), value: numberOf(value) });
  }
  return { samples, kinds };
};

/** The sum of the samples of this name whose labels are these; undefined without one. */
export const sumOf = (
  samples: readonly Sample[],
  name: string,
  labels: Readonly<Record<string, string>> = {},
): number | undefined => {
  const found = samples.filter(
    (sample) =>
      sample.name === name && Object.entries(labels).every(([key, value]) => sample.labels[key] === value),
  );
  return found.length === 0 ? undefined : found.reduce((sum, { value }) => sum + value, 0);
};
