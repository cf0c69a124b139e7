import { enableCompileCache, flushCompileCache } from 'node:module';
import { fileURLToPath } from 'node:url';

// Stripped and compiled sources from the start before: half the processor time of a start. Where the folder cannot be
// written, as in the image, everything is compiled again.
enableCompileCache(fileURLToPath(new URL('../node_modules/.cache/tidemark', import.meta.url)));
// It is written at a process's end otherwise, and a killed one has none.
setTimeout(flushCompileCache, 10_000).unref();

const { runProgram } = await import('./cli/program.ts');
await runProgram();
