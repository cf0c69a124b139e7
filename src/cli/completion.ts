import type { Command, Option } from 'commander';
import { helpText, printCode } from './output.ts';

/** A command as a shell completes it: `path` is `tidemark report create`. */
type Place = {
  readonly path: string;
  readonly commands: readonly Command[];
  readonly options: readonly Option[];
  readonly choices: readonly string[];
};

const placesOf = (command: Command, path: string): Place[] => {
  const commands = command.commands.filter((each) => each.name() !== 'help');
  return [
    {
      path,
      commands,
      options: [...command.options, ...command.createHelp().visibleOptions(command)].filter(
        (option, index, all) => all.findIndex((each) => each.long === option.long) === index,
      ),
      choices: command.registeredArguments.flatMap((each) => each.argChoices ?? []),
    },
    ...commands.flatMap((each) => placesOf(each, `${path} ${each.name()}`)),
  ];
};

const longOf = ({ long }: Option): string => long ?? '';

const wordsOf = ({ commands, options, choices }: Place): string =>
  [...commands.map((each) => each.name()), ...choices, ...options.map(longOf)].join(' ');

/** In single quotes, for any of the three shells. */
const quoted = (text: string): string => `'${text.replaceAll("'", '’')}'`;

const withValues = (places: readonly Place[]): (readonly [string, readonly string[]])[] =>
  places.flatMap(({ path, options }) =>
    options.flatMap((option) =>
      option.argChoices === undefined ? [] : [[`${path} ${longOf(option)}`, option.argChoices] as const],
    ),
  );

/** bash and zsh: the command before the cursor, then the words that may follow. */
const casesOf = (places: readonly Place[]): { readonly known: string; readonly words: string } => ({
  known: places
    .slice(1)
    .map(({ path }) => quoted(path))
    .join(' | '),
  words: [
    ...withValues(places).map(([at, choices]) => `    ${quoted(at)}) words=${quoted(choices.join(' '))} ;;`),
    ...places
      .map(
        (place) =>
          `    ${quoted(place.path)} | ${quoted(`${place.path} `)}*) words=${quoted(wordsOf(place))} ;;`,
      )
      .toReversed(),
  ].join('\n'),
});

const bash = (places: readonly Place[]): string => {
  const { known, words } = casesOf(places);
  return `# eval "$(tidemark completion bash)"
_tidemark() {
  local at=tidemark words='' i
  for ((i = 1; i < COMP_CWORD; i++)); do
    case "$at \${COMP_WORDS[i]}" in
    ${known}) at="$at \${COMP_WORDS[i]}" ;;
    esac
  done
  local before=''
  case "\${COMP_WORDS[COMP_CWORD - 1]}" in --*) before=" \${COMP_WORDS[COMP_CWORD - 1]}" ;; esac
  case "$at$before" in
${words}
  esac
  COMPREPLY=($(compgen -W "$words" -- "\${COMP_WORDS[COMP_CWORD]}"))
}
complete -o default -F _tidemark tidemark`;
};

const zsh = (places: readonly Place[]): string => {
  const { known, words } = casesOf(places);
  return `#compdef tidemark
# eval "$(tidemark completion zsh)"
_tidemark() {
  local at=tidemark list='' i before=''
  for ((i = 2; i < CURRENT; i++)); do
    case "$at $words[i]" in
    ${known}) at="$at $words[i]" ;;
    esac
  done
  case "$words[CURRENT - 1]" in --*) before=" $words[CURRENT - 1]" ;; esac
  case "$at$before" in
${words.replaceAll(') words=', ') list=')}
  esac
  compadd -- \${=list}
}
compdef _tidemark tidemark`;
};

const fish = (places: readonly Place[]): string => {
  const lines = places.flatMap(({ path, commands, options, choices }) => {
    const at = `complete -c tidemark -n ${quoted(`__tidemark_at "${path}"`)}`;
    return [
      ...commands.map((each) => `${at} -f -a ${each.name()} -d ${quoted(each.description())}`),
      ...choices.map((choice) => `${at} -f -a ${quoted(choice)}`),
      ...options.map((option) => {
        const values = option.argChoices === undefined ? '' : ` -x -a ${quoted(option.argChoices.join(' '))}`;
        return `${at} -l ${longOf(option).slice(2)}${values} -d ${quoted(option.description)}`;
      }),
    ];
  });
  const known = places.map(({ path }) => quoted(path)).join(' ');
  return `# tidemark completion fish | source
function __tidemark_at
  set -l at tidemark
  for word in (commandline -opc)[2..]
    contains -- "$at $word" ${known}; and set at "$at $word"
  end
  test "$at" = $argv[1]
end
${lines.join('\n')}`;
};

const shells = { bash, zsh, fish } as const;

const isShell = (name: string): name is keyof typeof shells => Object.hasOwn(shells, name);

/** The completion of a whole command line for a shell: `bash`, `zsh` or `fish`. */
export const completionScript = (program: Command, shell: string): string =>
  isShell(shell) ? shells[shell](placesOf(program, program.name())) : '';

/** `tidemark completion <shell>`; `whole` loads the program with all its commands. */
export const registerCompletion = (program: Command, whole: () => Promise<Command>): void => {
  program
    .command('completion')
    .description('print the completion of this command line for a shell')
    .addArgument(program.createArgument('<shell>', 'name of the shell').choices(Object.keys(shells)))
    .addHelpText('after', () =>
      helpText([
        'For this session: eval "$(tidemark completion bash)", the same with zsh, or tidemark completion fish | source.',
        'For every session: add that line to ~/.bashrc, ~/.zshrc (after compinit), or ~/.config/fish/config.fish.',
      ]),
    )
    .action(async (shell: string) => printCode(completionScript(await whole(), shell)));
};
