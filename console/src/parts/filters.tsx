import type { ComponentChildren } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setQuery, useQueryState } from '../shell/router.ts';
import { Button } from './button.tsx';

// Filters and pages of a list, kept in the address. A filter that changes goes back to the first page.

const change = (name: string, value: string): void =>
  setQuery({ [name]: value === '' ? undefined : value, cursor: undefined }, { replace: false });

type TextFilterProps = {
  readonly label: string;
  readonly name: string;
  readonly hint?: string | undefined;
  /** Proposals while the reader types. */
  readonly options?: readonly string[] | undefined;
};

/** A filter that the reader types; it counts when the field is left, or at Enter. */
export const TextFilter = ({ label, name, hint, options = [] }: TextFilterProps) => {
  const [value] = useQueryState(name);
  // What is typed stays when the page is drawn again before it counts.
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <label>
      {label}{' '}
      <input
        type="search"
        value={typed}
        onInput={({ currentTarget }) => setTyped(currentTarget.value)}
        placeholder={hint}
        autocomplete="off"
        list={options.length === 0 ? undefined : `options-${name}`}
        onChange={({ currentTarget }) => change(name, currentTarget.value.trim())}
      />
      {options.length > 0 && (
        <datalist id={`options-${name}`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </label>
  );
};

type Options<V extends string = string> = readonly (readonly [value: V, text: string])[];

type SelectProps<V extends string> = {
  readonly label: ComponentChildren;
  readonly value: V;
  readonly options: Options<V>;
  readonly onValue: (value: V) => void;
  readonly isDisabled?: boolean;
  /** `/` goes there. */
  readonly isSearch?: boolean;
};

export const Select = <V extends string>({ label, value, options, onValue, ...more }: SelectProps<V>) => (
  <label>
    {label}{' '}
    <select
      value={value}
      disabled={more.isDisabled}
      data-search={more.isSearch}
      onChange={({ currentTarget }) => {
        const chosen = options.find(([each]) => each === currentTarget.value);
        if (chosen !== undefined) onValue(chosen[0]);
      }}
    >
      {options.map(([each, text]) => (
        <option key={each} value={each}>
          {text}
        </option>
      ))}
    </select>
  </label>
);

type ChoiceProps = {
  readonly label: string;
  readonly name: string;
  readonly options: Options;
  /** False: the browser's Back goes back to the value before. */
  readonly replace?: boolean;
};

/** A choice whose value is a parameter of the address. */
export const Choice = ({ label, name, options, replace = true }: ChoiceProps) => {
  const [value, setValue] = useQueryState(name);
  const choose = (chosen: string): void => setValue(chosen, { replace });
  return <Select label={label} value={value} options={options} onValue={choose} />;
};

type ChoiceFilterProps = {
  readonly label: string;
  readonly name: string;
  readonly any: string;
  readonly choices: Options;
};

export const ChoiceFilter = ({ label, name, any, choices }: ChoiceFilterProps) => {
  const [value] = useQueryState(name);
  const options: Options = [['', any], ...choices];
  return <Select label={label} value={value} options={options} onValue={(each) => change(name, each)} />;
};

type SearchProps = {
  readonly value: string;
  readonly onValue: (value: string) => void;
  readonly placeholder?: string;
};

/** Searches what a list shows, while the reader types; `/` goes there. */
export const Search = ({ value, onValue, placeholder }: SearchProps) => (
  <label class="row">
    Search
    <input
      type="search"
      data-search
      value={value}
      placeholder={placeholder}
      onInput={({ currentTarget }) => onValue(currentTarget.value)}
    />
  </label>
);

/** Words for a page without items: only a first page without a next one may speak for the whole list. */
export const emptyText = (next: string | null, all: string): string => {
  if (next !== null) return 'None among those that this page looked at: go to the next page.';
  const isFirst = !new URLSearchParams(location.search).has('cursor');
  return isFirst ? all : 'No more: go back to the first page.';
};

/** Goes through a list by the cursors of its answers; nothing for a list of one page. The browser's Back goes back. */
export const Pager = ({ next }: { next: string | null | undefined }) => {
  const [cursor] = useQueryState('cursor');
  const kept = useRef<string>(undefined);
  if (next !== undefined) kept.current = next ?? undefined;
  if (cursor === '' && kept.current === undefined) return null;
  const go = (to: string | undefined): void => setQuery({ cursor: to }, { replace: false });
  return (
    <p class="row">
      <Button disabled={cursor === ''} onClick={() => go(undefined)}>
        First page
      </Button>
      <Button disabled={kept.current === undefined} onClick={() => go(kept.current)}>
        Next page
      </Button>
    </p>
  );
};

/** A condition that a press removes. */
export const Chip = ({ words, onRemove }: { words: string; onRemove: () => void }) => (
  <Button class="chip" aria-label={`Remove the filter ${words}`} onClick={onRemove}>
    <bdi>{words}</bdi> ✕
  </Button>
);
