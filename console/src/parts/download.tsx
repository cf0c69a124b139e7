import { send } from '../api/client.ts';
import { useAct } from '../api/use.ts';
import { Button } from './button.tsx';
import { Failed } from './states.tsx';

type DownloadProps = { readonly label: string; readonly of: () => string };

/** Reads an address of the API at the press, and gives the answer to the browser as a file of the name that it has there. */
export const Download = ({ label, of }: DownloadProps) => {
  const { run, isRunning, error } = useAct(async () => {
    const answer = await send(of());
    const download = answer.headers.get('Content-Disposition')?.split('"')[1] ?? '';
    const href = URL.createObjectURL(await answer.blob());
    Object.assign(document.createElement('a'), { href, download }).click();
    setTimeout(() => URL.revokeObjectURL(href), 60_000);
  });
  return (
    <>
      <Button disabled={isRunning} onClick={() => void run()}>
        {label}
      </Button>
      {error !== undefined && <Failed error={error} />}
    </>
  );
};
