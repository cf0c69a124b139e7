import { deadLetteredOutcome, storedOutcome } from './tally.ts';

/**
 * The arithmetic of `./message-account.ts` in SQL: what the records of redrives and purges change in the standing records of their
 * messages. Each record becomes events: the dead letters that it names (kind 0), and its own act on one (kind 1). Sorted by redrive,
 * ordinal and kind, an act follows what names its letter: the events are read once.
 */

const counts = "CAST(outcomes, 'Map(String, Int64)')";
const newNames = `arraySort(name -> (name != '${storedOutcome}', name), arrayFilter(name -> name != '${deadLetteredOutcome}', mapKeys(${counts})))`;

/** (redrive, ordinal, kind, items, ordinal of the record that names it, removed, again, names, items by name) */
const namings = `arrayMap((letter, items) -> (toInt64(redrive) + 1, letter, 0, toInt64(items), ordinal, toInt64(0), toInt64(0),
    CAST([], 'Array(String)'), CAST([], 'Array(Int64)')), letters, letter_items)`;
const act = `(toInt64(redrive), ordinal, 1, toInt64(0), toInt64(0), greatest(toInt64(0), -toInt64(outcomes['${deadLetteredOutcome}'])),
    toInt64(arraySum(letter_items)), ${newNames}, arrayMap(name -> greatest(toInt64(0), ${counts}[name]), ${newNames}))`;

/** Items of each, in their order, until `most` are reached. */
const upTo = (items: string, most: string): string =>
  `arrayMap((one, sum) -> greatest(toInt64(0), least(toInt64(sum), ${most}) - least(toInt64(sum) - one, ${most})),
     ${items}, arrayCumSum(${items}))`;

// The state of the pass: (dead, unnamed, redrive, ordinal and items of the letter that was named last (-1: none), voided acts, removed by each act).
const isOpen = '(state.5 >= 0 AND state.3 = event.1 AND state.4 = event.2)';
const isOfVoided =
  '(event.1 > 1 AND arrayExists(place -> place.1 = event.1 - 1 AND place.2 = event.5, state.6))';

const afterNaming = `(state.1, state.2, event.1, event.2,
    if(${isOpen}, state.5, toInt64(0)) + if(${isOfVoided}, if(${isOpen}, toInt64(0), toInt64(-1)), event.4), state.6, state.7)`;
/** A value with a name: SQL has no other one within a lambda, and each repetition costs at every analysis of the query. */
const given = (name: string, value: string, result: string): string =>
  `arrayMap(${name} -> ${result}, [${value}])[1]`;
const afterAct = given(
  'room',
  `if(${isOpen}, state.5, state.2)`,
  given(
    'removed',
    'least(event.6, room, state.1)',
    given(
      'is_whole',
      'removed = event.6 AND removed + event.7 <= room',
      `(state.1 - removed, if(${isOpen}, state.2, toInt64(0)) + room - removed - if(is_whole, event.7, toInt64(0)), event.1, event.2, toInt64(-1),
        if(is_whole, state.6, arrayPushBack(state.6, (event.1, event.2))), arrayPushBack(state.7, removed))`,
    ),
  ),
);

// Of nearly all messages every act comes right after the naming of its letter and fits in, or no letter is named and all acts fit in.
// Then each act removes what it says: no pass, whose cost is the square of the events.
const isNamedBefore = `(before.3 = 0 AND before.1 = event.1 AND before.2 = event.2 AND event.6 + event.7 <= before.4)`;
const isRegular = `((named > 0 AND named <= dead AND arrayAll((event, before) -> event.3 = 0 OR ${isNamedBefore},
      events, arrayPopBack(arrayPushFront(events, events[1]))))
    OR (arrayAll(event -> event.3 = 1 AND event.7 = 0, events) AND arraySum(event -> event.6, events) <= dead))`;

const pass = `arrayFold((state, event) -> if(event.3 = 0, ${afterNaming}, ${afterAct}), if(is_regular, [], events),
    (dead, greatest(toInt64(0), dead - named), toInt64(0), toInt64(0), toInt64(-1),
     CAST([], 'Array(Tuple(Int64, Int64))'), CAST([], 'Array(Int64)'))).7`;

export const messageKeyColumns = 'pipeline, data_id, app_id, base, first';

/**
 * A row per message of `table` that has a record of a redrive or purge among `where`: `minute` of its standing record (without one, of
 * the record), and the change of `received` and of the outcomes (`names`, `items`). Without a standing record, all that its records
 * say is in `stray_names`, `stray_items` and `stray_removed` instead.
 */
export const correctionsQuery = (table: string, where: string): string => `
  SELECT pipeline, data_id, app_id, minute,
    if(is_standing, toInt64(arraySum(arrayFlatten(taken))) - toInt64(arraySum(removed)), toInt64(0)) AS received,
    if(is_standing, arrayConcat(['${deadLetteredOutcome}'], arrayFlatten(arrayMap(each -> each.8, acts))), CAST([], 'Array(String)')) AS names,
    if(is_standing, arrayConcat([-toInt64(arraySum(removed))], arrayFlatten(taken)), CAST([], 'Array(Int64)')) AS items,
    if(is_standing, CAST([], 'Array(String)'), arrayFlatten(arrayMap(each -> each.8, acts))) AS stray_names,
    if(is_standing, CAST([], 'Array(Int64)'), arrayFlatten(arrayMap(each -> each.9, acts))) AS stray_items,
    if(is_standing, toInt64(0), toInt64(arraySum(each -> each.6, acts))) AS stray_removed
  FROM (
    SELECT pipeline, data_id, app_id, minute, is_standing, acts, removed,
      arrayMap((each, most) -> ${upTo('each.9', 'most')}, acts, removed) AS taken
    FROM (
      SELECT pipeline, data_id, app_id, minute, is_standing, arrayFilter(event -> event.3 = 1, events) AS acts,
        if(is_regular, arrayMap(event -> event.6, acts), ${pass}) AS removed
      FROM (
        SELECT *, ${isRegular} AS is_regular FROM (
        SELECT ${messageKeyColumns}, countIf(redrive = 0) > 0 AS is_standing,
          if(is_standing, maxIf(at_minute, redrive = 0), max(at_minute)) AS minute,
          toInt64(sumIf(outcomes['${deadLetteredOutcome}'], redrive = 0)) AS dead,
          toInt64(sumIf(arraySum(letter_items), redrive = 0)) AS named,
          arraySort(groupArrayArray(if(redrive = 0, ${namings}, arrayConcat([${act}], ${namings})))) AS events
        FROM (SELECT *, minute AS at_minute FROM ${table} FINAL
          WHERE (${messageKeyColumns}) IN (SELECT ${messageKeyColumns} FROM ${table} ${where === '' ? 'WHERE' : `${where} AND`} redrive > 0))
        GROUP BY ${messageKeyColumns})
      )
    )
  )`;
