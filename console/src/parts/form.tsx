import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef, useState } from 'preact/hooks';
import { ApiError } from '../api/client.ts';
import { ActDialog } from './dialog.tsx';
import { type Option, OptionList } from './filters.tsx';
import { Hostile } from './hostile.tsx';
import { Failed } from './states.tsx';

/** One field of a form, named as the API names it, so that its problem is shown beside it. */
export type Field = {
  readonly name: string;
  readonly label: string;
  readonly kind?: 'text' | 'number' | 'check' | 'select';
  /** Of a select. */
  readonly options?: readonly Option[];
  readonly value?: string | boolean;
  readonly hint?: string;
  readonly isRequired?: boolean;
};

/** What the reader of a form has filled in: undefined for a text or a number that is left empty. */
export type Filled = {
  readonly text: (name: string) => string | undefined;
  readonly number: (name: string) => number | undefined;
  readonly flag: (name: string) => boolean;
};

export const filledOf = (values: ReadonlyMap<string, string | boolean>): Filled => {
  const text = (name: string): string | undefined => {
    const value = values.get(name);
    return typeof value === 'string' && value !== '' ? value : undefined;
  };
  return {
    text,
    number: (name) => {
      const value = Number(text(name)?.trim() || Number.NaN);
      return Number.isFinite(value) ? value : undefined;
    },
    flag: (name) => values.get(name) === true,
  };
};

type ControlProps = {
  readonly field: Field;
  readonly value: string | boolean;
  readonly error: ApiError | undefined;
  readonly onValue: (value: string | boolean) => void;
};

const Control = ({ field, value, error, onValue }: ControlProps) => {
  const { name, label, kind = 'text', options = [], hint, isRequired } = field;
  const id = useId();
  const element = useRef<HTMLInputElement & HTMLSelectElement>(null);
  useEffect(() => {
    if (error !== undefined) element.current?.focus();
  }, [error]);
  const common = {
    id,
    ref: element,
    name,
    required: isRequired,
    'aria-invalid': error !== undefined,
    'aria-describedby': `${id}-hint`,
  };
  const input =
    kind === 'select' ? (
      <select {...common} value={String(value)} onChange={(event) => onValue(event.currentTarget.value)}>
        <OptionList of={options} />
      </select>
    ) : kind === 'check' ? (
      <input
        {...common}
        type="checkbox"
        checked={value === true}
        onChange={(event) => onValue(event.currentTarget.checked)}
      />
    ) : (
      <input
        {...common}
        {...(kind === 'number' ? ({ type: 'number', step: 1 } as const) : ({ type: 'text' } as const))}
        autocomplete="off"
        value={String(value)}
        onInput={(event) => onValue(event.currentTarget.value)}
      />
    );
  return (
    <div class="field">
      {kind === 'check' && input}
      <label for={id}>{label}</label>
      {kind !== 'check' && input}
      <p id={`${id}-hint`} class={error === undefined ? 'hint' : 'hint wrong'}>
        {error === undefined ? hint : <Hostile text={error.message} max={600} />}
      </p>
    </div>
  );
};

type FormProps = {
  readonly title: string;
  readonly fields: readonly Field[];
  readonly verb: string;
  /** `warn` stops an act that cannot be undone with words on what it does, until the reader begins it again. */
  readonly act: (filled: Filled, warn: (words: string) => void) => Promise<unknown>;
  readonly onClose: () => void;
  readonly children?: ComponentChildren;
};

/** A dialog with fields; the refusal of a field is shown beside it, any other below. It closes when the act is done. */
export const FormDialog = ({ title, fields, verb, act, onClose, children }: FormProps) => {
  const [values, setValues] = useState<ReadonlyMap<string, string | boolean>>(
    () => new Map(fields.map(({ name, kind, value }) => [name, value ?? (kind === 'check' ? false : '')])),
  );
  const said = useRef('');
  const warn = (detail: string): void => {
    if (said.current === detail) return;
    said.current = detail;
    throw new ApiError(0, { code: 'not_confirmed', detail, remedy: `To go on, press ${verb} again.` });
  };
  return (
    <ActDialog title={title} verb={verb} act={() => act(filledOf(values), warn)} onClose={onClose}>
      {(error) => (
        <>
          {children}
          {fields.map((field) => (
            <Control
              key={field.name}
              field={field}
              value={values.get(field.name) ?? ''}
              error={error?.field === field.name ? error : undefined}
              onValue={(value) => setValues(new Map(values).set(field.name, value))}
            />
          ))}
          {error !== undefined && !fields.some(({ name }) => name === error.field) && (
            <Failed error={error} />
          )}
        </>
      )}
    </ActDialog>
  );
};
