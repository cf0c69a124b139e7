/** The greatest severity that a row can hold; OTLP defines those up to 24. */
export const severityMax = 255;

/** The names of OTLP's severities by number, without their prefix. */
export const severityNames: readonly string[] = [
  'UNSPECIFIED',
  ...['TRACE', 'DEBUG', 'INFO', 'WARN', 'ERROR', 'FATAL'].flatMap((name) => [
    name,
    `${name}2`,
    `${name}3`,
    `${name}4`,
  ]),
];
