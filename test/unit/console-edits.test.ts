import { describe, expect, test } from 'vitest'
import { isSameValue, type NewRecord, type RecordEdit } from '../../console/src/grid/edits/edit.ts'
import { createEdits, type Failure } from '../../console/src/grid/edits/edits.ts'
import { createUndoStack } from '../../console/src/grid/edits/undo-stack.ts'
import type { ChangedRow } from '../../console/src/grid/pages/row.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

/** Edits against a service whose answers the test gives. */
function desk() {
  const sent: {
    records: readonly RecordEdit[]
    creates: readonly NewRecord[]
    key: string
    answer(version: number): Promise<void>
    fail(failure: Failure): Promise<void>
  }[] = []
  const timers: { ms: number; run: () => void }[] = []
  const saved: string[] = []
  const refused: string[] = []
  let keys = 0
  const edits = createEdits({
    send: (records, key, creates) =>
      new Promise((resolve, reject) => {
        sent.push({
          records,
          creates,
          key,
          answer: (version) => {
            const rows = records.map(({ id, values }): ChangedRow => ({ id, data: values, version }))
            resolve({ rows, changeId: 100 + sent.length })
            return turn()
          },
          fail: (failure) => {
            reject(failure)
            return turn()
          },
        })
      }),
    failureOf: (error) => error as Failure,
    later(ms, run) {
      const timer = { ms, run }
      timers.push(timer)
      return () => timers.splice(timers.indexOf(timer), 1)
    },
    newKey: () => `key ${++keys}`,
    changed: () => {},
    saved: (edit, _rows, changeId) => saved.push(`${edit.label} ${changeId}`),
    refused: (edit, message) => refused.push(`${edit.label}: ${message}`),
  })
  const last = () => sent.at(-1) as (typeof sent)[number]
  return { edits, sent, timers, saved, refused, last }
}

const edit = (values: Record<string, unknown>, { id = 1, version = 1, before = {} as Record<string, unknown> } = {}): RecordEdit[] => [
  { id, version, values, before },
]
const current = (data: Record<string, unknown>, version: number, id = 1) => ({ id, version, current: { id, data, version } })

describe('edits of cells', () => {
  test('an edit is shown at once and sent with the version of when it began', async () => {
    const { edits, last, saved } = desk()
    edits.add('Edit', edit({ name: 'Bob' }, { version: 7 }))
    expect(edits.pending(1)?.name).toBe('Bob')
    expect(last().records[0]).toMatchObject({ id: 1, version: 7 })
    await last().answer(8)
    expect(edits.pending(1)?.name).toBeUndefined()
    expect(saved).toEqual(['Edit 101'])
    expect(edits.state()).toEqual({ unsaved: 0, trouble: 'none', reason: null })
  })

  test('edits are sent one after the other, and a later one is based on the earlier', async () => {
    const { edits, sent, last } = desk()
    edits.add('Edit', edit({ name: 'Bob' }, { version: 7 }))
    edits.add('Edit', edit({ city: 'Bern' }, { version: 7 }))
    edits.add('Edit', edit({ city: 'Basel' }, { version: 7 }))
    expect(sent).toHaveLength(1)
    expect(edits.pending(1)?.city).toBe('Basel')
    await last().answer(8)
    expect(last().records[0]).toMatchObject({ version: 8, values: { city: 'Bern' } })
    await last().answer(9)
    expect(last().records[0]).toMatchObject({ version: 9, values: { city: 'Basel' } })
  })

  test('after a change of another cell the edit is sent again by itself', async () => {
    const { edits, sent, last } = desk()
    edits.add('Edit', edit({ name: 'Bob' }, { before: { name: 'Ann' } }))
    await last().fail({ kind: 'stale', stale: [current({ name: 'Ann', city: 'Bern' }, 5)] })
    expect(sent).toHaveLength(2)
    expect(last().records[0]).toMatchObject({ version: 5, values: { name: 'Bob' } })
    expect(last().key).not.toBe(sent[0]?.key)
  })

  test('a cell that another has changed asks, and either answer is taken', async () => {
    for (const keep of ['mine', 'theirs'] as const) {
      const { edits, sent, last, saved } = desk()
      edits.add('Edit', edit({ name: 'Bob' }, { before: { name: 'Ann' } }))
      await last().fail({ kind: 'stale', stale: [current({ name: 'Cid' }, 5)] })
      const asked = edits.conflicts()
      expect(asked?.conflicts).toEqual([{ id: 1, field: 'name', mine: 'Bob', theirs: 'Cid' }])
      expect(edits.pending(1)?.name).toBe('Bob')
      if (asked) edits.resolve(asked.edit, keep)
      await turn()
      expect(sent).toHaveLength(keep === 'mine' ? 2 : 1)
      if (keep === 'mine') expect(last().records[0]).toMatchObject({ version: 5, values: { name: 'Bob' } })
      else expect([edits.pending(1)?.name, saved]).toEqual([undefined, ['Edit null']])
    }
  })

  test('a refusal puts the cell back, keeps what was typed and says why', async () => {
    const { edits, last, refused } = desk()
    edits.add('Edit', edit({ amount: 'many', name: 'Bob' }))
    await last().fail({ kind: 'refused', message: 'bad', cells: [{ id: 1, field: 'amount', message: 'must be a number' }] })
    expect(edits.pending(1)?.amount).toBeUndefined()
    expect(edits.refusals(1)?.amount).toEqual({ message: 'must be a number', value: 'many' })
    expect(edits.refusals(1)?.name).toBeUndefined()
    expect(refused).toEqual(['Edit: bad'])
    edits.add('Edit', edit({ amount: 5 }))
    expect(edits.refusals(1)?.amount).toBeUndefined()
  })

  test('a lost connection queues, waits longer each time, and sends the same key again', async () => {
    const { edits, sent, timers, last } = desk()
    edits.add('Edit', edit({ name: 'Bob' }))
    await last().fail({ kind: 'later', reason: null, retryAfterMs: null })
    edits.add('Edit', edit({ city: 'Bern' }))
    expect(edits.state()).toEqual({ unsaved: 2, trouble: 'lost', reason: null })
    expect(sent).toHaveLength(1)
    timers.shift()?.run()
    await last().fail({ kind: 'later', reason: null, retryAfterMs: null })
    expect(timers[0]?.ms).toBe(2_000)
    edits.retry()
    expect(last().key).toBe('key 1')
    await last().answer(2)
    await last().answer(3)
    expect(edits.state()).toEqual({ unsaved: 0, trouble: 'none', reason: null })
  })

  test('a service that is busy is waited for as long as it says, and its words are told', async () => {
    const { edits, timers, last } = desk()
    edits.add('Edit', edit({ name: 'Bob' }))
    await last().fail({ kind: 'later', reason: 'Too many requests', retryAfterMs: 7_000 })
    expect(edits.state()).toEqual({ unsaved: 1, trouble: 'busy', reason: 'Too many requests' })
    expect(timers[0]?.ms).toBe(7_000)
    timers.shift()?.run()
    await last().answer(2)
    expect(edits.state()).toEqual({ unsaved: 0, trouble: 'none', reason: null })
  })

  test('new records are created after the edits before them, once, and what is refused of a draft is kept with it', async () => {
    const { edits, sent, last, timers } = desk()
    edits.add('Edit', edit({ name: 'Bob' }))
    edits.create('New row', [{ draft: -1, data: { name: 'Ann' } }])
    expect(sent).toHaveLength(1)
    expect(edits.isCreating(-1)).toBe(true)
    await last().answer(2)
    expect(sent[1]?.creates).toEqual([{ draft: -1, data: { name: 'Ann' } }])
    await last().fail({ kind: 'later', reason: null, retryAfterMs: null })
    timers.shift()?.run()
    expect(last().key).toBe(sent[1]?.key)
    await last().fail({ kind: 'refused', message: 'Bad', cells: [{ id: -1, field: 'name', message: 'is too long' }] })
    expect(edits.isCreating(-1)).toBe(false)
    expect(edits.refusals(-1)).toEqual({ name: { message: 'is too long', value: 'Ann' } })
    expect(edits.withdrawLast()).toBeUndefined()
  })

  test('edits wait while the session has ended, until somebody has signed in', async () => {
    const { edits, sent, last } = desk()
    edits.add('Edit', edit({ name: 'Bob' }))
    await last().fail({ kind: 'signed-out' })
    edits.add('Edit', edit({ city: 'Bern' }))
    expect(sent).toHaveLength(1)
    expect(edits.state().trouble).toBe('signed-out')
    edits.retry()
    await last().answer(2)
    await last().answer(3)
    expect(sent).toHaveLength(3)
  })

  test('only an edit that has never been sent can be withdrawn', async () => {
    const { edits, last } = desk()
    edits.add('First', edit({ name: 'Bob' }))
    edits.add('Second', edit({ city: 'Bern' }))
    expect(edits.withdrawLast()?.label).toBe('Second')
    expect(edits.withdrawLast()).toBeUndefined()
    let isIdle = false
    void edits.whenIdle().then(() => {
      isIdle = true
    })
    await turn()
    expect(isIdle).toBe(false)
    await last().answer(2)
    expect(isIdle).toBe(true)
  })

  test.each([
    [null, '', true],
    [null, [], true],
    ['a', 'b', false],
    [{ id: 1, title: 'Old' }, { id: 1, title: 'New' }, true],
    [{ id: 1 }, { id: 2 }, false],
    [['a', 'b'], ['b', 'a'], false],
    [[{ id: 1 }], [{ id: 1, name: 'x' }], true],
    [0, null, false],
    [false, null, false],
  ])('%j and %j are the same value: %j', (a, b, isSame) => {
    expect(isSameValue(a, b)).toBe(isSame)
  })
})

describe('what can be undone', () => {
  test('a redo is the undo of an undo, and a new change ends it', () => {
    const stack = createUndoStack()
    expect(stack.take(false)).toBeUndefined()
    stack.push({ label: 'Paste', changeIds: [1, 2] })
    const done = stack.take(false)
    expect(done).toEqual({ label: 'Paste', changeIds: [1, 2] })
    stack.keep({ label: 'Paste', changeIds: [3, 4] }, false)
    expect([stack.can(false), stack.can(true)]).toEqual([false, true])
    expect(stack.take(true)?.changeIds).toEqual([3, 4])
    stack.keep({ label: 'Paste', changeIds: [5] }, true)
    expect(stack.can(false)).toBe(true)
    stack.take(false)
    stack.keep({ label: 'Paste', changeIds: [6] }, false)
    stack.push({ label: 'Edit', changeIds: [7] })
    expect(stack.can(true)).toBe(false)
  })
})
