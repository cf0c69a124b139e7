import { type Answer, ask } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { badge, column, duration, word } from '../../parts/columns.tsx';
import { Time } from '../../parts/format.tsx';
import { Hostile } from '../../parts/hostile.tsx';
import { Await, Badge, Loading } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';

const findingColumns: readonly Column<Answer<'/api/v1/doctor', 'post'>['findings'][number]>[] = [
  badge('Result', ({ ok }) => (ok ? ['good', 'ok'] : ['bad', 'not ok'])),
  word('Check', ({ name }) => name),
  duration('Took', ({ ms }) => ms),
  column('Found', ({ detail, remedy }) => (
    <>
      <Hostile text={detail} max={400} />
      {remedy !== '' && <div>→ {remedy}</div>}
    </>
  )),
];

/** Every dependency as metadata sees it; the checks run when the tab is opened, and again on demand. */
export const Doctor = () => {
  const checked = useLoad('doctor', (signal) => ask('/api/v1/doctor', undefined, signal));
  if (checked.isLoading) return <Loading what="The checks run" />;
  return (
    <Await of={checked}>
      {({ at, well, findings }) => (
        <>
          <p class="row">
            <Badge tone={well ? 'good' : 'bad'}>
              {well
                ? 'all is well'
                : `${findings.filter(({ ok }) => !ok).length} of ${findings.length} checks failed`}
            </Badge>
            <Time at={at} seconds />
            <Button onClick={checked.reload}>Run again</Button>
          </p>
          <Table
            caption="Checks of the dependencies"
            columns={findingColumns}
            rows={findings}
            keyOf={({ name }) => name}
            empty="No checks."
          />
          <p class="quiet">
            Checked by metadata, from where it runs. <code>tidemark doctor</code> also sends a point, a span,
            a log record and a data point through all stages.
          </p>
        </>
      )}
    </Await>
  );
};
