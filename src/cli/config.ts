import type { Command } from 'commander';
import { loadPipelines } from '../config/pipelines.ts';
import { kinds, parseInstances } from '../config/setting-kinds.ts';
import { collectTexts, defaultSource } from '../config/setting-texts.ts';
import { loadSettings, type SettingDefinition, settingDefinitions } from '../config/settings.ts';
import type { JsonOption } from './options.ts';
import { nothing, printJson, printLine, printTable, sayLines } from './output.ts';

type Shown = { readonly setting: string; readonly value: string | null; readonly source: string };

const hidden = '***';

const shownAddress = (text: string): string => {
  const url = new URL(text);
  if (url.username !== '') url.username = hidden;
  if (url.password !== '') url.password = hidden;
  return url.href;
};

/** Addresses with their users and passwords hidden, any other secret hidden whole. */
const shownText = ({ kind }: SettingDefinition, text: string): string => {
  if (!kind.isSecret) return text;
  if (kind === kinds.secret) return hidden;
  if (kind === kinds.instances)
    return parseInstances(text)
      .map(({ name, url }) => `${name}=${shownAddress(url)}`)
      .join();
  return text.split(',').map(shownAddress).join();
};

const shownSettings = (): Shown[] => {
  const texts = collectTexts(process.env);
  return settingDefinitions.map((definition) => {
    const found = texts.get(definition.env);
    if (found === undefined) return { setting: definition.env, value: null, source: 'not set' };
    return { setting: definition.env, value: shownText(definition, found.text), source: found.source };
  });
};

const print = ({ json }: JsonOption): void => {
  const shown = shownSettings();
  if (json) return printJson({ items: shown });
  printTable(
    ['SETTING', 'VALUE', 'FROM'],
    shown.map(({ setting, value, source }) => [setting, value ?? nothing, source]),
  );
};

/** Settings, the settings file and the pipeline files, as every role reads them at its start. */
const check = ({ json }: JsonOption): void => {
  const settings = loadSettings();
  loadPipelines(settings.pipelinesFolder, undefined, (warning) => sayLines(`warning: ${warning}`));
  const changed = shownSettings().filter(({ value, source }) => value !== null && source !== defaultSource);
  if (json) return printJson({ ok: true, changed });
  printLine(
    `settings and pipelines are valid; ${changed.length} of ${settingDefinitions.length} settings differ from the default`,
  );
};

/** `tidemark config check | print`. */
export const registerConfig = (program: Command): void => {
  const config = program.command('config').description('settings from environment, files and defaults');
  config
    .command('check')
    .description('validate settings and pipeline files; exit code 78 and the place of the error')
    .option('--json', 'print {ok, changed} as JSON')
    .action(check);
  config
    .command('print')
    .description('print every setting with the source of its value; secrets are hidden')
    .option('--json', 'print them as JSON')
    .action(print);
};
