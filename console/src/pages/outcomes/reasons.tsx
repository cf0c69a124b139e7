import { get } from '../../api/client.ts';
import type { components } from '../../api/schema.d.ts';
import { useLoad } from '../../api/use.ts';
import { Facts } from '../../parts/facts.tsx';
import { Choice } from '../../parts/filters.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await } from '../../parts/states.tsx';

type Reason = components['schemas']['Reason'];

/** The closed table of reasons; a code may have several rows. */
export const useReasons = () =>
  useLoad('reasons', async (signal) => (await get('/api/v1/reasons', { signal })).items);

const who: Readonly<Record<Reason['fixable_by'], string>> = {
  sender: 'the sender has to fix it',
  operator: 'the operator has to fix it',
  tidemark: 'a defect of Tidemark: report it',
};
const what: Readonly<Record<Reason['of'], string>> = {
  item: 'the item is dropped',
  request: 'the whole request is refused',
  value: 'the item is stored without the value',
};

type ExplanationProps = { code: string; count?: string | undefined; span?: string };

/** What a reason means, who can mend it and how; `count` of it, in words, in `span`, for instance `the last hour`. */
export const Explanation = ({ code, count, span }: ExplanationProps) => {
  const reasons = useReasons();
  return (
    <div class="explanation">
      <Await of={reasons}>
        {(rows) => {
          const found = rows.filter((row) => row.code === code);
          if (found.length === 0)
            return (
              <p>
                <Hostile text={code} /> is not in the table of reasons: a process of another version may have
                written it.
              </p>
            );
          return found.map(({ of, stage, fixable_by: by, meaning, remedy }) => (
            <Facts
              key={`${of} ${stage}`}
              of={{
                Meaning: (
                  <>
                    {meaning} <span class="quiet">{`(${what[of]}; ${stage})`}</span>
                  </>
                ),
                'What to do': (
                  <>
                    <strong>{remedy}</strong> <span class="quiet">({who[by]})</span>
                  </>
                ),
              }}
            />
          ));
        }}
      </Await>
      {count !== undefined && (
        <p class="quiet">
          {count} of this reason in {span}.
        </p>
      )}
    </div>
  );
};

/** Chooses a reason, or all of them. */
export const ReasonFilter = () => {
  const { data = [] } = useReasons();
  const codes = [...new Set(data.map(({ code }) => code))].toSorted();
  return <Choice label="Reason" name="reason" any="all" options={codes} />;
};
