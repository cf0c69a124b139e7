import { useState } from 'preact/hooks';
import { call, get } from '../../api/client.ts';
import { useLoad } from '../../api/use.ts';
import { Button } from '../../parts/button.tsx';
import { Confirm } from '../../parts/dialog.tsx';
import { counted, wholeText } from '../../parts/figures.ts';
import { announce } from '../../shell/announce.tsx';
import { useAllows } from '../../shell/session.ts';
import { type Pipeline, type StoppedConsumer, stoppedConsumers, waitingOf } from './bulk.ts';

const lookEveryMs = 5_000;
const followEveryMs = 1_000;

const stoppedText = ({ pipeline, why, processes, of }: StoppedConsumer, waiting: number): string => {
  const where = `in ${processes} of ${of} transfer ${of === 1 ? 'process' : 'processes'}`;
  const wait = `Nothing is lost: ${waiting === 1 ? '1 message waits' : `${counted(waiting, 'message')} wait`} in the stream.`;
  return why === 'stopped'
    ? `The consumer of ${pipeline} is stopped ${where}: too many items in a row became dead letters. ${wait} Repair the cause that the reasons below name, then resume it.`
    : `The consumer of ${pipeline} waits ${where}: DEADLETTER has no room. ${wait} Redrive or purge dead letters.`;
};

/** A consumer that was resumed here, and the messages that waited for it then. */
type Resumed = { readonly pipeline: Pipeline; readonly waited: number };

const Progress = ({ of: { pipeline, waited }, waiting }: { of: Resumed; waiting: number }) => (
  <p class="state row" role="status">
    {waiting === 0
      ? `${pipeline} is resumed, and no message waits.`
      : `${pipeline} is resumed: ${wholeText(waiting)} of ${counted(waited, 'waiting message')} left.`}
    {waiting > 0 && (
      <progress
        max={waited}
        value={waited - waiting}
        aria-label={`Messages of ${pipeline} that were taken`}
      />
    )}
  </p>
);

/** Consumers that dead letters have stopped, how to resume them, and what still waits after that. */
export const Consumers = () => {
  const [asked, setAsked] = useState<Pipeline>();
  const [resumed, setResumed] = useState<Resumed>();
  const mayResume = useAllows('editor');
  const { data, reload } = useLoad(
    'consumers',
    async (signal) => {
      const [{ items }, { streams }] = await Promise.all([
        get('/api/v1/processes', { signal }),
        get('/api/v1/line', { signal }),
      ]);
      return { stopped: stoppedConsumers(items), streams };
    },
    resumed === undefined ? lookEveryMs : followEveryMs,
  );
  const waiting = (pipeline: Pipeline): number => waitingOf(data?.streams ?? [], pipeline);
  const resume = async (): Promise<void> => {
    if (asked === undefined) return;
    await call('post', '/api/v1/consumers/{pipeline}/resume', { path: { pipeline: asked }, body: {} });
    announce(`${asked} is resumed`);
    setResumed({ pipeline: asked, waited: waiting(asked) });
    reload();
  };
  const stopped = data?.stopped ?? [];
  const isStopped = stopped.some(({ pipeline }) => pipeline === resumed?.pipeline);
  return (
    <>
      {stopped.map((each) => (
        <div key={each.pipeline + each.why} class="state failed" role="alert">
          <p>{stoppedText(each, waiting(each.pipeline))}</p>
          {each.why === 'stopped' && mayResume && (
            <Button onClick={() => setAsked(each.pipeline)}>Resume {each.pipeline} …</Button>
          )}
        </div>
      ))}
      {resumed !== undefined && !isStopped && <Progress of={resumed} waiting={waiting(resumed.pipeline)} />}
      {asked !== undefined && (
        <Confirm
          title={`Resume the consumer of ${asked}`}
          verb="Resume"
          act={resume}
          onClose={() => setAsked(undefined)}
        >
          <p>
            Every transfer process resumes it. Items that the store still refuses become dead letters, and it
            stops again.
          </p>
        </Confirm>
      )}
    </>
  );
};
