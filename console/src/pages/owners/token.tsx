import { useState } from 'preact/hooks';
import { call } from '../../api/client.ts';
import { Button } from '../../parts/button.tsx';
import { Copy } from '../../parts/copy.tsx';
import { FormDialog } from '../../parts/form.tsx';
import { Time } from '../../parts/format.tsx';
import { Failed } from '../../parts/states.tsx';
import { useAllows } from '../../shell/session.ts';
import { changing, isAlive, type OneOwner } from './owner.ts';
import type { TabProps } from './pieces.tsx';
import { keepToken, type Revealed, useReveal } from './tokens.ts';

const overlaps = [
  ['0', 'none: it is refused at once'],
  ['900', '15 minutes'],
  ['3600', '1 hour'],
  ['86400', '1 day'],
  ['604800', '7 days'],
  ['2592000', '30 days'],
] as const;

type RotateProps = TabProps & { onShown: (shown: Revealed) => void; onClose: () => void };

const Rotate = ({ kind, owner, reload, onShown, onClose }: RotateProps) => (
  <FormDialog
    title="Rotate the token"
    verb="Rotate"
    fields={[
      {
        name: 'overlap_seconds',
        label: 'The present token stays valid for',
        kind: 'select',
        options: overlaps,
        value: '3600',
        hint: 'Give the senders the new token within this time.',
      },
    ]}
    onClose={onClose}
    act={async ({ number }, warn) => {
      const { base, id, etag } = owner.tokened;
      const body = { overlap_seconds: number('overlap_seconds') ?? 3600 };
      if (body.overlap_seconds === 0) warn('The present token is refused at once, and so are earlier ones.');
      const { data } = await changing(reload, 'The token was rotated', () =>
        call('post', `/api/v1/${base}/{id}/rotate-token`, { path: { id }, body, etag }),
      );
      keepToken(kind.path, owner.id, data.token);
      onShown({ token: data.token, previous: { token: '', expires_at: data.previous_expires_at } });
    }}
  />
);

export const Token = (props: TabProps) => {
  const { owner } = props;
  const [shown, setShown] = useState<Revealed>();
  const [rotated, setRotated] = useState<OneOwner>();
  const isEditor = useAllows('editor');
  const reveal = useReveal(props, setShown);
  return (
    <section>
      <h2>Write token</h2>
      <p class="row">
        <code class="token">{shown?.token ?? owner.maskedToken}</code>
        {shown !== undefined && <Copy text={shown.token} what="the token" />}
        {shown !== undefined && <Button onClick={() => setShown(undefined)}>Hide</Button>}
        {shown === undefined && isEditor && (
          <Button disabled={reveal.isRunning} onClick={() => void reveal.run()}>
            Reveal
          </Button>
        )}
        {isEditor && isAlive(owner) && <Button onClick={() => setRotated(owner)}>Rotate …</Button>}
      </p>
      {shown?.previous != null && (
        <p class="hint">
          The token before it is accepted until <Time at={shown.previous.expires_at} seconds />.
        </p>
      )}
      <p class="hint">The audit log records who reveals or rotates it.</p>
      {reveal.error !== undefined && <Failed error={reveal.error} />}
      {rotated && (
        <Rotate {...props} owner={rotated} onShown={setShown} onClose={() => setRotated(undefined)} />
      )}
    </section>
  );
};
