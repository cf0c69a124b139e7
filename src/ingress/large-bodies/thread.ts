import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// The entry of the thread of large bodies. It starts with the compile cache of the program's other starts, in two fifths of the
// processor time.
enableCompileCache(fileURLToPath(new URL('../../../node_modules/.cache/tidemark', import.meta.url)));
setTimeout(flushCompileCache, 1_000).unref();

await import('./work.ts');
