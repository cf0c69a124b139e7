import type { ComponentChildren, InputHTMLAttributes } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { setQuery, useQueryState } from '../shell/router.ts';
import { Button } from './button.tsx';
import { plainText } from './plain-text.ts';

// Filters and pages of a list, kept in the address. A filter that changes goes back to the first page.

/** What a list with another filter begins with: its first page, and no row selected that may be out of view. */
export const restarted = { cursor: undefined, pick: undefined } as const;

const change = (name: string, value: string): void =>
  setQuery({ [name]: value === '' ? undefined : value, ...restarted }, { replace: false });

type Without<T, K extends string> = T extends unknown ? Omit<T, K> : never;

type InputProps = Without<InputHTMLAttributes<HTMLInputElement>, 'label'> & {
  readonly label: ComponentChildren;
  readonly onValue: (value: string) => void;
};

/** A field for a text. */
export const Input = ({ label, onValue, children, ...input }: InputProps) => (
  <label>
    {label} <input {...input} onInput={({ currentTarget }) => onValue(currentTarget.value)} />
    {children}
  </label>
);

type TextFilterProps = {
  readonly label: string;
  readonly name: string;
  readonly hint?: string | undefined;
  readonly title?: string;
  /** `/` goes there. */
  readonly isSearch?: boolean;
  /** Proposals while the reader types. */
  readonly options?: readonly string[] | undefined;
};

/** A filter that the reader types; it counts when the field is left, or at Enter. */
export const TextFilter = ({ label, name, hint, title, isSearch, options = [] }: TextFilterProps) => {
  const [value] = useQueryState(name);
  // What is typed stays when the page is drawn again before it counts.
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  return (
    <Input
      label={label}
      type="search"
      title={title}
      data-search={isSearch}
      value={typed}
      onValue={setTyped}
      placeholder={hint}
      autocomplete="off"
      list={options.length === 0 ? undefined : `options-${name}`}
      onChange={({ currentTarget }) => change(name, currentTarget.value.trim())}
    >
      {options.length > 0 && (
        <datalist id={`options-${name}`}>
          {options.map((option) => (
            <option key={option} value={option} />
          ))}
        </datalist>
      )}
    </Input>
  );
};

/** The owner of a list by its id; `ownerQuery` reads it. */
export const OwnerFilter = () => (
  <TextFilter
    label="Owner"
    name="owner"
    hint="1500001 or app:7"
    title="A data id, for instance 1500001; or app: and the id of an application"
    isSearch
  />
);

/** A value, with its words where they are others. */
export type Option<V extends string = string> = V | readonly [value: V, text: string];

const keyOf = <V extends string>(option: Option<V>): V => (typeof option === 'string' ? option : option[0]);

export const OptionList = ({ of }: { of: readonly Option[] }) =>
  of.map((option) => (
    <option key={keyOf(option)} value={keyOf(option)}>
      {typeof option === 'string' ? plainText(option) : option[1]}
    </option>
  ));

type SelectProps<V extends string> = {
  readonly label: ComponentChildren;
  readonly value: V;
  readonly options: readonly Option<V>[];
  readonly onValue: (value: V) => void;
  readonly isDisabled?: boolean;
  /** `/` goes there. */
  readonly isSearch?: boolean;
};

/** A choice of one; a value that is not offered, as from an address, is shown all the same. */
export const Select = <V extends string>({ label, value, options, onValue, ...more }: SelectProps<V>) => {
  const shown = options.some((option) => keyOf(option) === value) ? options : [value, ...options];
  return (
    <label>
      {label}{' '}
      <select
        value={value}
        disabled={more.isDisabled}
        data-search={more.isSearch}
        onChange={({ currentTarget }) => {
          const chosen = options.find((option) => keyOf(option) === currentTarget.value);
          if (chosen !== undefined) onValue(keyOf(chosen));
        }}
      >
        <OptionList of={shown} />
      </select>
    </label>
  );
};

type ChoiceProps = {
  readonly label: string;
  readonly name: string;
  /** The words for an address without the parameter. */
  readonly any: string;
  readonly options: readonly Option[];
};

/** A choice whose value is a parameter of the address. */
export const Choice = ({ label, name, any, options }: ChoiceProps) => {
  const [value] = useQueryState(name);
  const all = [['', any] as const, ...options];
  return <Select label={label} value={value} options={all} onValue={(each) => change(name, each)} />;
};

type CheckProps = { readonly label: string; readonly isOn: boolean; readonly onTurn: (on: boolean) => void };

export const Check = ({ label, isOn, onTurn }: CheckProps) => (
  <label class="row">
    <input type="checkbox" checked={isOn} onChange={({ currentTarget }) => onTurn(currentTarget.checked)} />
    {label}
  </label>
);

type SearchProps = Pick<InputProps, 'onValue' | 'value' | 'placeholder'>;

/** Searches what a list shows, while the reader types; `/` goes there. */
export const Search = (props: SearchProps) => <Input label="Search" type="search" data-search {...props} />;

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

type ChipProps = { readonly words: string; readonly what?: string; readonly onRemove: () => void };

/** A condition that a press removes; `what` it is for those who do not see it. */
export const Chip = ({ words, what = `the filter ${words}`, onRemove }: ChipProps) => (
  <Button class="chip" aria-label={`Remove ${what}`} onClick={onRemove}>
    <bdi>{words}</bdi> ✕
  </Button>
);
