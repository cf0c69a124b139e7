import { useEffect, useRef, useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { useLive } from '../../api/live.ts';
import { useAct } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { code, id, text } from '../../parts/columns.tsx';
import { Dialog } from '../../parts/dialog.tsx';
import { counted } from '../../parts/figures.ts';
import { Figure, Time } from '../../parts/format.tsx';
import { Failed, Loading } from '../../parts/states.tsx';
import { type Column, Table } from '../../parts/table.tsx';
import { announce } from '../../shell/announce.tsx';
import { type Act, actsOf, type Done, doneText, type RunningAct, runAll, type Target } from './bulk.ts';

const effects: Readonly<Record<Act, string>> = {
  redrive:
    'A redrive puts the original bytes back into their stream; each item is stored once. What is refused again becomes a dead letter again.',
  purge:
    'A purge removes dead letters for ever; their items count as dropped by purged_by_operator. It cannot be undone.',
};

const failureColumns: readonly Column<Done['failed'][number]>[] = [
  id('Id', ({ sequence }) => sequence),
  code('Code', (each) => each.code),
  text('Why', ({ detail }) => detail, 400),
];

const Failures = ({ failed }: { failed: Done['failed'] }) =>
  failed.length === 0 ? null : (
    <>
      <p>{counted(failed.length, 'dead letter')} not: repair what the reason names, or purge the rest.</p>
      <Table
        caption="Dead letters that fail"
        columns={failureColumns}
        rows={failed}
        keyOf={({ sequence }) => sequence}
        empty=""
        sortName="failed"
        rowsMax={100}
      />
    </>
  );

/** The acts on dead letters that run now in any metadata process, also those of the CLI. */
export const RunningActs = () => {
  const [acts, setActs] = useState<readonly RunningAct[]>([]);
  const timer = useRef<ReturnType<typeof setTimeout>>(undefined);
  useLive('dead_letters', (data) => {
    setActs(actsOf(data).filter((act) => !act.dry_run));
    clearTimeout(timer.current);
    // The events end some seconds after the act.
    timer.current = setTimeout(() => setActs([]), 5_000);
  });
  useEffect(() => () => clearTimeout(timer.current), []);
  if (acts.length === 0) return null;
  return (
    <ul class="running" aria-label="Acts that run now">
      {acts.map(({ id, act, started_at: startedAt, matched, done, failed, has_ended: hasEnded }) => (
        <li key={id}>
          {act} since <Time at={startedAt} seconds />: <Figure value={done} /> of <Figure value={matched} />
          {failed > 0 && `, ${failed} failed`} {hasEnded ? '(ended)' : ''}
          {!hasEnded && <progress max={Math.max(matched, 1)} value={done + failed} aria-label={act} />}
        </li>
      ))}
    </ul>
  );
};

type Props = {
  readonly act: Act;
  readonly target: Target;
  /** In words: `the 3 selected dead letters`. */
  readonly what: string;
  readonly onClose: (hasActed: boolean) => void;
};

/** A dry run first, in the words of the CLI; then the act itself, with its progress and what failed. */
export const ActDialog = ({ act, target, what, onClose }: Props) => {
  const [wouldDo, setWouldDo] = useState<Done>();
  const [did, setDid] = useState<Done>();
  const isOpen = useRef(true);
  const ask = async (body: Parameters<Parameters<typeof runAll>[0]>[0]): Promise<Done> =>
    (await call('post', `/api/v1/dead-letters/${act}`, { body })).data;
  const isWanted = (): boolean => isOpen.current;
  const dryRun = useAct(() => runAll(ask, target, true, setWouldDo, isWanted));
  const real = useAct(async () => {
    const show = (sum: Done): void => {
      setDid(sum);
      announce(doneText(sum, act, false));
    };
    await runAll(ask, target, false, show, isWanted, wouldDo?.first_cursor);
  });
  useEffect(() => {
    void dryRun.run();
    return () => {
      isOpen.current = false;
    };
  }, []);
  const verb = act === 'redrive' ? 'Redrive' : 'Purge';
  const isChecked = wouldDo !== undefined && !dryRun.isRunning && dryRun.error === undefined;
  const hasActed = did !== undefined || real.isRunning || real.error !== undefined;
  const error = dryRun.error ?? real.error;
  return (
    <Dialog title={`${verb} ${what}`} onClose={() => onClose(hasActed)}>
      <p>{effects[act]}</p>
      {dryRun.isRunning && <Loading what="Dry run" />}
      {wouldDo !== undefined && did === undefined && (
        <>
          <p role="status">
            Dry run{isChecked ? '' : ' so far'}: <strong>{doneText(wouldDo, act, true)}</strong>.
          </p>
          <Failures failed={wouldDo.failed} />
        </>
      )}
      {real.isRunning && (
        <>
          <Loading what={`${verb} under way: it stops after the running call when this is closed`} />
          <RunningActs />
        </>
      )}
      {did !== undefined && (
        <>
          <p role="status">
            <strong>{doneText(did, act, false)}</strong>
            {real.isRunning ? ' so far.' : '.'}
          </p>
          {!real.isRunning &&
            real.error === undefined &&
            wouldDo !== undefined &&
            did.matched < wouldDo.matched && (
              <p>
                {counted(wouldDo.matched - did.matched, 'dead letter')} gone since the dry run: another act
                was first.
              </p>
            )}
          <Failures failed={did.failed} />
        </>
      )}
      {error !== undefined && <Failed error={error} />}
      <p class="row">
        {!hasActed && (
          <Button
            class={act === 'purge' ? 'danger' : 'main'}
            disabled={!isChecked || wouldDo.done === 0}
            onClick={() => void real.run()}
          >
            {isChecked
              ? `${verb} ${counted(wouldDo.done, 'dead letter')}${act === 'purge' ? ' for ever' : ''}`
              : verb}
          </Button>
        )}
        <Button onClick={() => onClose(hasActed)}>
          {hasActed || isChecked === false ? 'Close' : 'Cancel'}
        </Button>
      </p>
    </Dialog>
  );
};
