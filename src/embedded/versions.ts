/** Every pinned version of the embedded engines and of their build tools. package.json repeats the npm ones. */
export const versions = {
  nats: '2.15.2',
  questdb: '9.3.4',
  clickhouse: '26.7',
  chdb: '3.4.0',
  ffiRs: '1.3.7',
  mavenDependencyPlugin: '3.6.1',
  javaMajorMin: 17,
} as const;
