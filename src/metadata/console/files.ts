import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { answerZippable, type Zippable, zippable } from '../gzip.ts';

type Content = Zippable & { readonly type: string };

/** The built files of the console. */
export type ConsoleFiles = {
  /** The answer to a GET of a path below `/console/`. Every path that is not a file is one of the console's pages. */
  answer(path: string, acceptEncoding: string | undefined): Response;
};

const types: Readonly<Record<string, string>> = {
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  css: 'text/css; charset=utf-8',
  svg: 'image/svg+xml',
  md: 'text/plain; charset=utf-8',
};

const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** Header fields of every answer of the console. */
export const protection = {
  'Content-Security-Policy': policy,
  'X-Content-Type-Options': 'nosniff',
  'Referrer-Policy': 'no-referrer',
  'Cross-Origin-Opener-Policy': 'same-origin',
  'Cross-Origin-Resource-Policy': 'same-origin',
  'Permissions-Policy': 'camera=(), display-capture=(), geolocation=(), microphone=(), payment=(), usb=()',
  'X-Frame-Options': 'DENY',
} as const;

const contentOf = (type: string, plain: Buffer<ArrayBuffer>): Content => ({
  type,
  ...zippable(plain),
});

const readContent = (path: string): Content =>
  contentOf(
    types[path.slice(path.lastIndexOf('.') + 1)] ?? 'application/octet-stream',
    Buffer.from(readFileSync(path)),
  );

const words = (text: string): Content => contentOf('text/plain; charset=utf-8', Buffer.from(text));
const notBuilt = words('The console is not built: run make setup, then restart metadata.\n');
const noAsset = words('No such file: reload the page.\n');

const answerOf = (
  status: number,
  content: Content,
  cacheControl: string,
  acceptEncoding: string | undefined,
): Response =>
  answerZippable(content, acceptEncoding, status, {
    ...protection,
    'Content-Type': content.type,
    'Cache-Control': cacheControl,
  });

// The name of an asset has its hash.
const forEver = 'public, max-age=31536000, immutable';

/** Reads all files of the folder into memory: they are less than a MiB. A missing folder makes an answer that says so. */
export const readConsoleFiles = (folder: string): ConsoleFiles => {
  const page = existsSync(join(folder, 'index.html')) ? readContent(join(folder, 'index.html')) : undefined;
  const names = page === undefined ? [] : readdirSync(join(folder, 'assets'));
  const assets = new Map(names.map((name) => [`assets/${name}`, readContent(join(folder, 'assets', name))]));
  return {
    answer: (path, acceptEncoding) => {
      const asset = assets.get(path);
      const hasHash = !path.endsWith('.md');
      if (asset !== undefined) return answerOf(200, asset, hasHash ? forEver : 'no-store', acceptEncoding);
      if (page === undefined) return answerOf(404, notBuilt, 'no-store', acceptEncoding);
      if (path.startsWith('assets/')) return answerOf(404, noAsset, 'no-store', acceptEncoding);
      return answerOf(200, page, 'no-store', acceptEncoding);
    },
  };
};
