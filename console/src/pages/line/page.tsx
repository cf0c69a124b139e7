import { useState } from 'preact/hooks';
import { useLive } from '../../api/live.ts';
import { Code } from '../../parts/copy.tsx';
import { Loading } from '../../parts/states.tsx';

const Page = () => {
  const [line, setLine] = useState<unknown>();
  useLive('line', setLine);
  return (
    <>
      <h1>Line</h1>
      {line === undefined ? <Loading /> : <Code text={JSON.stringify(line, null, 1)} what="The line" />}
    </>
  );
};

export default Page;
