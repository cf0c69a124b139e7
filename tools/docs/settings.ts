import { fileVariable } from '../../src/config/setting-texts.ts';
import { type SettingDefinition, settingDefinitions } from '../../src/config/settings.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const row = (definition: SettingDefinition): string => {
  const { env, key, kind, fallback, meaning } = definition;
  const place = key === '' ? '–' : `\`${key}\``;
  const value = fallback === undefined ? '–' : `\`${cell(fallback)}\``;
  return `| \`${env}\` | ${place} | ${kind.shown} | ${value} | ${cell(meaning)} |`;
};

/** docs/settings.md: every setting. */
export const settingsDocument = (): string =>
  [
    '# Settings',
    '',
    '`make docs` writes this page from `src/config/setting-definitions.ts`.',
    '',
    'Every role and command reads these settings. The environment overrides the file that `TIDEMARK_CONFIG` names (YAML, with the keys of',
    'this table), and the file overrides the default. An unknown variable that begins with `TIDEMARK_`, an unknown key or an invalid value',
    'ends the start with exit code 78 and a message that names the place, the reason and the remedy. A size is a number of bytes, or has the',
    'unit `KiB`, `MiB` or `GiB`.',
    '',
    '`tidemark config check` checks all of them; `tidemark config print` prints each value and its origin.',
    '',
    'An address may contain a user and a password where its value does not say otherwise. Addresses and secrets can be in files instead; the',
    'line feed at the end of such a file does not count. These variables name the files:',
    `${settingDefinitions
      .flatMap((definition) => fileVariable(definition) ?? [])
      .map((name) => `\`${name}\``)
      .join(', ')}.`,
    '',
    '| variable | key in the file | value | default | meaning |',
    '|---|---|---|---|---|',
    ...settingDefinitions.map(row),
    '',
  ].join('\n');
