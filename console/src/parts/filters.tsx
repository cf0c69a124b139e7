import { useEffect, useRef, useState } from 'preact/hooks';
import { setQuery, useQueryState } from '../shell/router.ts';

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

type ChoiceFilterProps = {
  readonly label: string;
  readonly name: string;
  readonly any: string;
  /** Value and text of each choice. */
  readonly choices: readonly (readonly [string, string])[];
};

/** A filter with few values. */
export const ChoiceFilter = ({ label, name, any, choices }: ChoiceFilterProps) => {
  const [value] = useQueryState(name);
  return (
    <label>
      {label}{' '}
      <select value={value} onChange={({ currentTarget }) => change(name, currentTarget.value)}>
        <option value="">{any}</option>
        {choices.map(([each, text]) => (
          <option key={each} value={each}>
            {text}
          </option>
        ))}
      </select>
    </label>
  );
};

/** Goes through a list by the cursors of its answers; nothing for a list of one page. The browser's Back goes back. */
export const Pager = ({ next }: { next: string | null | undefined }) => {
  const [cursor] = useQueryState('cursor');
  const kept = useRef<string>(undefined);
  if (next !== undefined) kept.current = next ?? undefined;
  if (cursor === '' && kept.current === undefined) return null;
  return (
    <p class="row">
      <button
        type="button"
        disabled={cursor === ''}
        onClick={() => setQuery({ cursor: undefined }, { replace: false })}
      >
        First page
      </button>
      <button
        type="button"
        disabled={kept.current === undefined}
        onClick={() => setQuery({ cursor: kept.current }, { replace: false })}
      >
        Next page
      </button>
    </p>
  );
};
