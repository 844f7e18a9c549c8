/** What becomes of a draft (console/src/session/drafts), against a service and a browser whose answers the test gives. */
import { describe, expect, test } from 'vitest'
import { createDraftKeeper, type Failure } from '../../console/src/session/drafts/draft-keeper.ts'
import type { Kept, LocalCopy, Stored } from '../../console/src/session/drafts/draft-state.ts'

const turn = () => new Promise<void>((resolve) => setImmediate(resolve))

type Answer = { is: 'saved' } | { is: 'lost' } | { is: 'arrived, but its answer was lost' } | { is: Failure<string> }

/** A service with one draft. Each save waits for the test. */
function service(stored: Stored<string> = { kept: null, version: 0 }) {
  const desk = {
    stored,
    saves: [] as { kept: Kept<string> | null; version: number; settle(answer: Answer): Promise<void> }[],
    isAway: false,
  }
  const store = (kept: Kept<string> | null, version: number) => {
    if (version !== desk.stored.version) throw { kind: 'overtaken', theirs: desk.stored } satisfies Failure<string>
    desk.stored = { kept, version: version + 1 }
    return desk.stored.version
  }
  const outcome = ({ is }: Answer, kept: Kept<string> | null, version: number): number => {
    if (is === 'lost') throw later
    if (typeof is === 'object') throw is
    const stored = store(kept, version)
    if (is !== 'saved') throw later
    return stored
  }
  return {
    desk,
    load: async () => {
      if (desk.isAway) throw later
      // The service lists no drafts that are cleared, so that their version is not known.
      return desk.stored.kept ? desk.stored : { kept: null, version: 0 }
    },
    async save(kept: Kept<string> | null, version: number): Promise<number> {
      const { promise, resolve } = Promise.withResolvers<Answer>()
      const settle = (answer: Answer) => {
        resolve(answer)
        return turn()
      }
      desk.saves.push({ kept, version, settle })
      return outcome(await promise, kept, version)
    },
  }
}

const later: Failure<string> = { kind: 'later', problem: 'away' }

/** A page with a draft of the service. */
async function page(name: string, { desk, load, save }: ReturnType<typeof service>, left: LocalCopy<string> | null = null) {
  const timers: { ms: number; run(): void }[] = []
  const local: { copy: LocalCopy<string> | null } = { copy: left }
  let keys = 0
  const keeper = createDraftKeeper<string>({
    page: name,
    load,
    save,
    failureOf: (error) => error as Failure<string>,
    takeLeft: async () => left,
    keep: (copy) => {
      local.copy = copy
    },
    createKey: () => {
      keys += 1
      return `${name}-${keys}`
    },
    later(ms, run) {
      const timer = { ms, run }
      timers.push(timer)
      return () => void (timers.includes(timer) && timers.splice(timers.indexOf(timer), 1))
    },
  })
  await turn()
  return {
    keeper,
    local,
    waits: () => timers.map(({ ms }) => ms),
    /** Lets the time pass. @returns what was sent then */
    async pass() {
      const due = timers.splice(0)
      for (const { run } of due) run()
      await turn()
      return desk.saves.at(-1)
    },
    text: () => keeper.state().kept?.value ?? null,
  }
}

type Page = Awaited<ReturnType<typeof page>>

async function saveNow({ pass }: Page): Promise<void> {
  await (await pass())?.settle({ is: 'saved' })
}

describe('a draft', () => {
  test('is in the browser at once and on the service within a second, whatever is typed meanwhile', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('H')
    expect(tab.local.copy).toEqual({ kept: { value: 'H', key: 'a-1', by: 'a' }, version: 0, isNew: true })
    tab.keeper.set('He')
    expect(tab.waits()).toEqual([700])
    await saveNow(tab)
    expect(desk.desk.stored).toEqual({ kept: { value: 'He', key: 'a-1', by: 'a' }, version: 1 })
    expect(tab.local.copy).toBeNull()
    expect(tab.waits()).toEqual([])
  })

  test('keeps letters that were typed while a save was under way, and saves them next', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('H')
    const first = await tab.pass()
    tab.keeper.set('Hello')
    expect(tab.local.copy?.kept?.value).toBe('Hello')
    expect(tab.waits()).toEqual([])
    await first?.settle({ is: 'saved' })
    expect(tab.local.copy).toEqual({ kept: { value: 'Hello', key: 'a-1', by: 'a' }, version: 1, isNew: false })
    await saveNow(tab)
    expect(desk.desk.stored.kept?.value).toBe('Hello')
  })

  test.each([
    ['the service is away (503) or the network', { is: 'lost' }],
    ['the answer was lost', { is: 'arrived, but its answer was lost' }],
  ] as const)('is sent again, later and later, when %s', async (_, answer) => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('one')
    await (await tab.pass())?.settle(answer)
    expect(tab.keeper.state().problem).toBe('away')
    expect(tab.local.copy?.kept?.value).toBe('one')
    tab.keeper.set('two')
    expect(tab.waits()).toEqual([1000])
    await (await tab.pass())?.settle({ is: 'lost' })
    expect(tab.waits()).toEqual([2000])
    tab.keeper.hurry()
    await desk.desk.saves.at(-1)?.settle({ is: 'saved' })
    // What the page has written itself is no conflict.
    await saveNow(tab)
    expect(desk.desk.stored.kept?.value).toBe('two')
    expect(tab.keeper.state()).toMatchObject({ problem: null, conflict: null, failures: 0 })
    expect(tab.local.copy).toBeNull()
  })

  test('waits with its save until the person has signed in again', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('one')
    const waiting = await tab.pass()
    tab.keeper.set('two')
    await tab.pass()
    expect(desk.desk.saves).toHaveLength(1)
    await waiting?.settle({ is: 'saved' })
    await saveNow(tab)
    expect(desk.desk.stored.kept?.value).toBe('two')
  })

  test('is not sent again as it is after the service has refused it for good', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('too long')
    const settled = tab.keeper.settle()
    await desk.desk.saves.at(-1)?.settle({ is: { kind: 'refused', problem: 'value must have at most 256 KB' } })
    expect(await settled).toBe(false)
    expect(tab.waits()).toEqual([])
    expect(tab.keeper.state().problem).toBe('value must have at most 256 KB')
    expect(tab.local.copy?.kept?.value).toBe('too long')
    tab.keeper.set('short')
    await saveNow(tab)
    expect(tab.keeper.state().problem).toBeNull()
  })

  test('that is cleared while it is saved is removed afterwards, and the next one has another key', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('sent')
    const saving = await tab.pass()
    tab.keeper.set(null)
    expect(tab.text()).toBeNull()
    await saving?.settle({ is: 'saved' })
    await saveNow(tab)
    expect(desk.desk.stored).toEqual({ kept: null, version: 2 })
    expect(tab.local.copy).toBeNull()
    tab.keeper.set('next')
    expect(tab.keeper.state().kept?.key).toBe('a-2')
    await saveNow(tab)
    expect(desk.desk.stored.version).toBe(3)
  })

  test('that was cleared while the service was away is removed by the next page', async () => {
    const desk = service({ kept: { value: 'sent', key: 'a-1', by: 'a' }, version: 4 })
    const tab = await page('b', desk, { kept: null, version: 4, isNew: false })
    expect(tab.text()).toBeNull()
    await saveNow(tab)
    expect(desk.desk.stored).toEqual({ kept: null, version: 5 })
  })

  test('is there after the page was killed, before and during a save', async () => {
    const desk = service()
    const killed = await page('a', desk)
    killed.keeper.set('first')
    await saveNow(killed)
    killed.keeper.set('first and second')
    const { copy } = killed.local
    const arriving = await killed.pass()
    const next = await page('b', desk, copy)
    expect(next.text()).toBe('first and second')
    expect(next.keeper.state().kept?.key).toBe('a-1')
    next.keeper.set('first and second and third')
    await arriving?.settle({ is: 'saved' })
    await saveNow(next)
    await saveNow(next)
    expect(next.keeper.state().conflict).toBeNull()
    expect(desk.desk.stored.kept?.value).toBe('first and second and third')
  })

  test('of two pages is asked about by the one that saves later', async () => {
    const desk = service()
    const [one, other] = [await page('a', desk), await page('b', desk)]
    one.keeper.set('mine')
    await saveNow(one)
    other.keeper.set('yours')
    await saveNow(other)
    expect(one.keeper.state().conflict).toBeNull()
    expect(other.keeper.state().conflict?.kept?.value).toBe('mine')
    expect(other.text()).toBe('yours')
    expect(other.local.copy?.kept?.value).toBe('yours')
    other.keeper.set('yours, longer')
    expect(other.waits()).toEqual([])
    expect(await other.keeper.settle()).toBe(false)

    other.keeper.keepMine()
    await saveNow(other)
    expect(desk.desk.stored.kept?.value).toBe('yours, longer')
    one.keeper.set('mine, longer')
    await saveNow(one)
    one.keeper.takeTheirs()
    expect(one.text()).toBe('yours, longer')
    expect(one.keeper.state().revision).toBe(2)
    expect(one.local.copy).toBeNull()
  })

  test('that was sent elsewhere asks before it is there again, then under another key', async () => {
    const desk = service({ kept: { value: 'text', key: 'x', by: 'before' }, version: 1 })
    const [one, other] = [await page('a', desk), await page('b', desk)]
    one.keeper.set(null)
    await saveNow(one)
    other.keeper.set('text and more')
    await saveNow(other)
    expect(other.keeper.state().conflict).toEqual({ kept: null, version: 2 })
    other.keeper.keepMine()
    expect(other.keeper.state().kept).toMatchObject({ value: 'text and more', key: 'b-1' })
    await saveNow(other)
    expect(desk.desk.stored.kept?.key).toBe('b-1')
  })

  test('that a page left unsaved asks if it was sent or changed elsewhere since', async () => {
    const left = { kept: { value: 'left', key: 'x', by: 'a' }, version: 3, isNew: false }
    const sent = await page('b', service({ kept: null, version: 4 }), left)
    expect(sent.keeper.state().conflict).toEqual({ kept: null, version: 0 })
    const changed = await page('b', service({ kept: { value: 'changed', key: 'x', by: 'c' }, version: 4 }), left)
    expect(changed.keeper.state().conflict?.kept?.value).toBe('changed')
    expect(changed.text()).toBe('left')
  })

  test('that is typed before the service has answered is kept, and asks if there is another', async () => {
    const desk = service({ kept: { value: 'there', key: 'x', by: 'before' }, version: 1 })
    const tab = page('a', desk)
    const typed = (await tab).keeper
    expect(typed.state().kept?.value).toBe('there')

    desk.desk.isAway = true
    const early = await page('b', desk)
    early.keeper.set('typed')
    expect(early.local.copy?.kept?.value).toBe('typed')
    expect(early.keeper.state()).toMatchObject({ isLoading: true, problem: 'away' })
    desk.desk.isAway = false
    await early.pass()
    expect(early.keeper.state().conflict?.kept?.value).toBe('there')
    expect(early.text()).toBe('typed')
  })

  test('that a page left is there before the service has answered, and is gone on with', async () => {
    const desk = service({ kept: { value: 'le', key: 'x', by: 'a' }, version: 3 })
    desk.desk.isAway = true
    const tab = await page('b', desk, { kept: { value: 'left', key: 'x', by: 'a' }, version: 3, isNew: false })
    expect(tab.text()).toBe('left')
    expect(tab.keeper.state()).toMatchObject({ isLoading: true, revision: 1 })
    tab.keeper.set('left and more')
    desk.desk.isAway = false
    await tab.pass()
    expect(tab.keeper.state()).toMatchObject({ isLoading: false, conflict: null, revision: 1 })
    await saveNow(tab)
    expect(desk.desk.stored).toEqual({ kept: { value: 'left and more', key: 'x', by: 'b' }, version: 4 })
  })

  test('that is as it was saved takes what another machine has saved since', async () => {
    const desk = service()
    const [one, other] = [await page('a', desk), await page('b', desk)]
    one.keeper.set('mine')
    await saveNow(one)
    await other.keeper.refresh()
    expect(other.text()).toBe('mine')
    expect(other.keeper.state().revision).toBe(2)
    other.keeper.set('mine and yours')
    await one.keeper.refresh()
    expect(one.text()).toBe('mine')
    await saveNow(other)
    await one.keeper.refresh()
    expect(one.text()).toBe('mine and yours')
  })

  test('stays as it was saved if an answer from before comes after that', async () => {
    const desk = service()
    const early = Promise.withResolvers<void>()
    let isHeld = false
    const load = async () => {
      const stored = await desk.load()
      if (isHeld) await early.promise
      return stored
    }
    const tab = await page('a', { ...desk, load })
    isHeld = true
    const refresh = tab.keeper.refresh()
    tab.keeper.set('Hello')
    await saveNow(tab)
    early.resolve()
    await refresh
    expect(tab.text()).toBe('Hello')
  })

  test('settles once the service has all of it', async () => {
    const desk = service()
    const tab = await page('a', desk)
    tab.keeper.set('one')
    const settled = tab.keeper.settle()
    tab.keeper.set('two')
    await desk.desk.saves.at(-1)?.settle({ is: 'saved' })
    await desk.desk.saves.at(-1)?.settle({ is: 'saved' })
    expect(await settled).toBe(true)
    expect(desk.desk.stored.kept?.value).toBe('two')
    expect(await tab.keeper.settle()).toBe(true)
    tab.keeper.set('three')
    const failing = tab.keeper.settle()
    await desk.desk.saves.at(-1)?.settle({ is: 'lost' })
    expect(await failing).toBe(false)
  })
})
