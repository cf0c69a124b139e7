import { fileVariable } from '../../src/config/setting-texts.ts';
import { type SettingDefinition, settingDefinitions } from '../../src/config/settings.ts';

const cell = (text: string): string => text.replaceAll('|', '\\|');

const row = (definition: SettingDefinition): string => {
  const { env, key, kind, fallback, meaning } = definition;
  const place = key === '' ? '–' : `\`${key}\``;
  const value = fallback === undefined ? '–' : `\`${cell(fallback)}\``;
  return `| \`${env}\` | ${place} | ${kind.shown} | ${value} | ${cell(meaning)} |`;
};

/** docs/settings.md: every setting there is. */
export const settingsDocument = (): string =>
  [
    '# Settings',
    '',
    'Every role and command reads these. The environment wins over the file that `TIDEMARK_CONFIG` names (YAML, by the keys of this',
    'table), the file over the default. An unknown variable that begins with `TIDEMARK_`, an unknown key and a value that cannot be used',
    'end the start with exit code 78 and a message that names place, reason and remedy. Sizes are bytes or take `KiB`, `MiB`, `GiB`.',
    '',
    '`tidemark config check` says whether everything can be used; `tidemark config print` shows each value and where it comes from.',
    '',
    'Addresses may hold a user and a password. Those and secrets can stand in files instead; the end of the line does not count:',
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
