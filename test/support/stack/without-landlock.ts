// Runs a script as on a kernel without Landlock: node without-landlock.ts <script> [<argument> …]
import { forgetLandlock } from '../../../src/embedded/confine.ts';

forgetLandlock();
process.execve?.(process.execPath, [process.execPath, ...process.argv.slice(2)], process.env);
