import { promisify } from 'node:util';
import { gzip, gzipSync } from 'node:zlib';
import { answerShared } from './shared-answer.ts';

/** Whether a client takes gzip, by its Accept-Encoding. */
export const takesGzip = (acceptEncoding = ''): boolean =>
  acceptEncoding
    .slice(0, 256)
    .split(',')
    .some((coding) => {
      const [name, ...parameters] = coding.split(';').map((part) => part.trim().toLowerCase());
      return (
        name === 'gzip' && !parameters.some((each) => each.startsWith('q=') && Number(each.slice(2)) === 0)
      );
    });

/** A shorter answer gains nothing: its packets on a link are as many. */
const zippedBytesMin = 4_096;

// In a thread of its own: the loop goes on meanwhile.
const zip = promisify(gzip);

/** The answer with this text, zipped where the client takes that and it is worth it. */
export const answerZipped = async (
  text: string,
  acceptEncoding: string | undefined,
  headers: Readonly<Record<string, string>>,
): Promise<Response> => {
  const varying = { ...headers, Vary: 'Accept-Encoding' };
  // No character has fewer bytes than one.
  if (text.length < zippedBytesMin || !takesGzip(acceptEncoding))
    return new Response(text, { headers: varying });
  return new Response(await zip(text), { headers: { ...varying, 'Content-Encoding': 'gzip' } });
};

/** Bytes that are answered often, and the same zipped. */
export type Zippable = { readonly plain: Buffer<ArrayBuffer>; readonly zipped: Buffer<ArrayBuffer> };

/** Zips at once: for what is made at start. */
export const zippable = (plain: Buffer<ArrayBuffer>): Zippable => ({
  plain,
  zipped: Buffer.from(gzipSync(plain)),
});

/** The answer with these bytes, zipped where the client takes that. */
export const answerZippable = (
  { plain, zipped }: Zippable,
  acceptEncoding: string | undefined,
  status: number,
  headers: Readonly<Record<string, string>>,
): Response => {
  const isZipped = takesGzip(acceptEncoding);
  return answerShared(isZipped ? zipped : plain, status, {
    ...headers,
    Vary: 'Accept-Encoding',
    ...(isZipped ? { 'Content-Encoding': 'gzip' } : {}),
  });
};
