import { expect, it } from 'vitest';
import { destinationOf, withoutPartsOf } from '../../../src/cli/streams-backup/stores.ts';

// The folder of --to may have any name.
it.each([
  ["monday's", "File('monday\\'s')"],
  ['a\\b', "File('a\\\\b')"],
  ['$&', "File('$&')"],
])('the name %s of a backup stays one string in the destination', (name, destination) => {
  expect(destinationOf("File('{name}')", name)).toBe(destination);
});

it('a message keeps everything but what it has of the destination', () => {
  const destination = "S3('https://bucket/night','AKIAKEY0123','secret/key+9')";
  const texts: [string, string][] = [
    [`at 9: ${destination} ASYNC`, 'at 9: … ASYNC'],
    ["at 40 ('AKIAKEY0123'): 'AKIAKEY0123','secret...", 'at 40 (…): …...'],
    ['the disk is full', 'the disk is full'],
  ];
  for (const [message, hidden] of texts) expect(withoutPartsOf(destination, message)).toBe(hidden);
});
