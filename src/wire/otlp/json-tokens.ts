import { JsonCursor } from './json-cursor.ts';
import { JsonFields } from './json-fields.ts';
import { KeySet } from './json-keys.ts';
import type { Levels } from './levels.ts';
import type { ReadState } from './read-state.ts';
import { type NotedTokens, noteToken } from './resource-row.ts';
import { TooManyElements } from './types.ts';

const entryKeys = new KeySet(['resource']);
const attributeKeys = new KeySet(['key']);

/**
 * Members and items from the top of a body down to the attributes of its resources that it may have: this number, and one for each 32
 * bytes. An attribute takes more than that, and empty ones would otherwise cost ten times as much.
 */
const partsFree = 10_000;
const bytesPerPart = 32;

/**
 * Finds the resources of a JSON request and notes their tokens; it skips everything else by its brackets alone. It
 * takes names as often as they occur: the reader of the items decides which of them counts. So a resource without a token is noted where
 * any of them has none. Throws MalformedBody, RepeatedKey where an attribute has a member twice, TooManyTokens and TooManyElements.
 */
export class JsonTokenReader {
  private readonly state: ReadState;
  private readonly tokens: NotedTokens;
  private readonly levels: Levels;
  private readonly cursor: JsonCursor;
  private readonly fields: JsonFields;
  private readonly partsMax: number;
  private parts = 0;

  constructor(state: ReadState, tokens: NotedTokens, levels: Levels) {
    this.state = state;
    this.tokens = tokens;
    this.levels = levels;
    this.cursor = new JsonCursor(state.body, state.scratch, state.tokenKeys);
    this.fields = new JsonFields(this.cursor, state, levels.names.fieldInvalid);
    this.partsMax = partsFree + Math.floor(this.cursor.body.length / bytesPerPart);
  }

  read(): void {
    this.members(this.levels.request, () => this.items(() => this.entry()));
  }

  private entry(): void {
    this.state.scratch.length = 0;
    let resources = 0;
    this.members(entryKeys, () => {
      resources++;
      this.resource();
    });
    if (resources === 0) this.tokens.add(undefined);
  }

  private resource(): void {
    this.state.owner.clearResource();
    let lists = 0;
    this.members(this.levels.resource, () => {
      lists++;
      this.attributes();
    });
    if (lists === 0) this.tokens.add(undefined);
  }

  private attributes(): void {
    const { owner } = this.state;
    let index = 0;
    this.items(() => {
      if (this.namesToken()) this.fields.attribute(owner.resource, owner.fault, '', index);
      index++;
    });
    noteToken(this.state, this.tokens, this.levels);
    owner.resource.count = 0;
  }

  /**
   * Whether the current attribute has the key of a token; if so, it still has to be read. Any other is skipped: its
   * value may be costly.
   */
  private namesToken(): boolean {
    const { cursor, state } = this;
    if (cursor.kind() !== 'object') {
      cursor.pass();
      return false;
    }
    const start = cursor.at;
    const kept = state.scratch.length;
    let hasName = false;
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      if (cursor.key(attributeKeys) < 0 || cursor.kind() !== 'string') cursor.pass();
      else {
        cursor.string();
        hasName ||=
          cursor.start < 0
            ? state.tokenKeys.has(state.scratch.source, ~cursor.start, ~cursor.end)
            : state.tokenKeys.has(state.body, cursor.start, cursor.end);
      }
    }
    state.scratch.length = kept;
    if (hasName) cursor.at = start;
    return hasName;
  }

  /** Calls `read` at the value of each member of the current object that has one of these names. */
  private members(keys: KeySet, read: () => void): void {
    const { cursor } = this;
    if (cursor.kind() !== 'object') return cursor.pass();
    for (let has = cursor.open(); has; has = cursor.nextMember()) {
      this.count();
      if (cursor.key(keys) < 0) cursor.pass();
      else read();
    }
  }

  /** Calls `read` at each item of the current array. */
  private items(read: () => void): void {
    const { cursor } = this;
    if (cursor.kind() !== 'array') return cursor.pass();
    for (let has = cursor.open(); has; has = cursor.nextItem()) {
      this.count();
      read();
    }
  }

  private count(): void {
    if (++this.parts > this.partsMax)
      throw new TooManyElements(
        `the body has more than ${this.partsMax} members and items outside its ${this.levels.names.itemsText}: send smaller requests`,
      );
  }
}
