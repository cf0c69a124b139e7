// Writes schemas/openapi/admin.json from the endpoints in the code; format it afterwards with `make format`.
import { mkdirSync, writeFileSync } from 'node:fs';
import { documentFile, documentOfCode } from './openapi.ts';

mkdirSync(new URL('.', documentFile), { recursive: true });
writeFileSync(documentFile, `${JSON.stringify(await documentOfCode(), null, 2)}\n`);
