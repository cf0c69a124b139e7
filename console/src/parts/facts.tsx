import type { ComponentChildren } from 'preact';

/** Names with their values, in their order; what is false or null is left out. */
export const Facts = ({ of }: { of: Readonly<Record<string, ComponentChildren>> }) => (
  <dl class="pairs">
    {Object.entries(of)
      .filter(([, value]) => value !== false && value !== null)
      .map(([name, value]) => (
        <>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </>
      ))}
  </dl>
);
