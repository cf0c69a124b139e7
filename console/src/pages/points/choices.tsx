import { useState } from 'preact/hooks';
import { get } from '../../api/client.ts';
import { Chip, Input, Select } from '../../parts/filters.tsx';
import { numberText } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { plainText } from '../../parts/plain-text.ts';
import { Queried, useQuery } from '../../parts/query.tsx';
import { Empty, TooLarge } from '../../parts/states.tsx';
import { useTimeRange } from '../../parts/time-range.tsx';
import { isTooLong, setQuery } from '../../shell/router.ts';
import { type Filter, filterText, filterWords, parseFilter, valueLengthMax, valuesMax } from './query.ts';

type NamesProps = {
  readonly label: string;
  /** Its parameter in the address. */
  readonly name: string;
  readonly chosen: readonly string[];
  readonly options: readonly string[];
  readonly max: number;
};

/** Some of many names: each chosen one is a button that removes it. */
export const Names = ({ label, name, chosen, options, max }: NamesProps) => {
  const set = (names: readonly string[]): void => setQuery({ [name]: names }, { replace: false });
  const free = options.filter((option) => !chosen.includes(option));
  return (
    <fieldset class="row">
      <legend class="unseen">{label}</legend>
      <Select
        label={label}
        value=""
        isDisabled={chosen.length >= max || free.length === 0}
        options={[['', chosen.length >= max ? `at most ${max}` : 'add …'], ...free]}
        onValue={(value) => value !== '' && set([...chosen, value])}
      />
      {chosen.map((each) => (
        <Chip
          key={each}
          words={plainText(each, 40)}
          what={plainText(each)}
          onRemove={() => set(chosen.filter((other) => other !== each))}
        />
      ))}
    </fieldset>
  );
};

type EditorProps = {
  readonly source: number;
  readonly dimension: string;
  /** Those of the address with one more. */
  readonly withFilter: (filter: Filter) => { readonly where: readonly string[] };
  readonly onAdded: () => void;
};

/** The values of a dimension in the chosen time, those with most rows first; any other can be typed. */
const Editor = ({ source, dimension, withFilter, onAdded }: EditorProps) => {
  const range = useTimeRange();
  const [isNot, setIsNot] = useState(false);
  const [values, setValues] = useState<readonly (string | null)[]>([]);
  const [typed, setTyped] = useState('');
  const found = useQuery(`${source} ${dimension} ${range.key}`, (signal) => {
    const { since, until } = range;
    const query = { data_id: source, dimension, since, until, wide: true, limit: 100 };
    return get('/api/v1/query/points/values', { query, signal });
  });
  const turn = (value: string | null): void =>
    setValues(values.includes(value) ? values.filter((each) => each !== value) : [...values, value]);
  const all = typed === '' ? values : [...values, typed];
  const next = withFilter({ dimension, isNot, values: all });
  return (
    <form
      class="filter-editor inline"
      onSubmit={(event) => {
        event.preventDefault();
        setQuery(next, { replace: false });
        onAdded();
      }}
    >
      <fieldset>
        <legend>
          <Hostile text={dimension} max={60} />
        </legend>
        <div class="row">
          <Select
            label={<span class="unseen">Condition</span>}
            value={isNot ? '!=' : '='}
            options={[
              ['=', 'is one of'],
              ['!=', 'is none of'],
            ]}
            onValue={(value) => setIsNot(value === '!=')}
          />
          <Input label="Other value" value={typed} onValue={setTyped} />
          <button type="submit" disabled={all.length === 0 || all.length > valuesMax || isTooLong(next)}>
            Add filter
            {isTooLong(next)
              ? ' (too long for a link)'
              : all.length >= valuesMax && ` (at most ${valuesMax} values)`}
          </button>
        </div>
        <Queried of={found}>
          {(answer) =>
            answer.values.length === 0 ? (
              <Empty>No values in this time.</Empty>
            ) : (
              <>
                <ul class="filter-values">
                  {answer.values.map(({ value, rows }, index) => (
                    <li key={index}>
                      <label class="row">
                        <input
                          type="checkbox"
                          checked={values.includes(value)}
                          disabled={
                            (value?.length ?? 0) > valueLengthMax ||
                            (all.length >= valuesMax && !values.includes(value))
                          }
                          onChange={() => turn(value)}
                        />
                        {value === null ? <em>none</em> : <bdi>{plainText(value)}</bdi>}
                        {(value?.length ?? 0) > valueLengthMax && <em>too long for a filter</em>}
                        <span class="quiet figure">{numberText(rows)}</span>
                      </label>
                    </li>
                  ))}
                </ul>
                {answer.truncated && (
                  <TooLarge shown={answer.values.length} how="They have most rows. Type any other value." />
                )}
              </>
            )
          }
        </Queried>
      </fieldset>
    </form>
  );
};

type FiltersProps = {
  readonly source: number;
  readonly given: readonly string[];
  readonly dimensions: readonly string[];
  readonly max: number;
};

/** The filters of the address, and one more. */
export const Filters = ({ source, given, dimensions, max }: FiltersProps) => {
  const [dimension, setDimension] = useState('');
  const set = (where: readonly string[]): void => setQuery({ where }, { replace: false });
  return (
    <>
      <fieldset class="row">
        <legend class="unseen">Filters</legend>
        <Select
          label="Filter"
          value={dimension}
          isDisabled={given.length >= max}
          options={[['', 'by a dimension …'], ...dimensions]}
          onValue={setDimension}
        />
        {given.map((text) => {
          const filter = parseFilter(text);
          const words = filter === undefined ? plainText(text) : filterWords(filter);
          return (
            <Chip key={text} words={words} onRemove={() => set(given.filter((each) => each !== text))} />
          );
        })}
      </fieldset>
      {dimension !== '' && (
        <Editor
          key={`${source} ${dimension}`}
          source={source}
          dimension={dimension}
          withFilter={(filter) => ({ where: [...new Set([...given, filterText(filter)])] })}
          onAdded={() => setDimension('')}
        />
      )}
    </>
  );
};
