/** One trial: load, faults one after the other, the time until writes work again, and the account at the end. */
import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import { PgBoss } from 'pg-boss'
import { until } from '../../test/support/until.ts'
import { type Account, auditOf, leftToDo } from './audit.ts'
import { type Caller, callerOf } from './caller.ts'
import { type Fault, heal } from './faults.ts'
import { Ledger } from './ledger.ts'
import { startLoad } from './load.ts'
import type { Options } from './options.ts'
import { followEvents, type Stream } from './stream.ts'
import type { World } from './world.ts'

export interface Round {
  fault: Fault
  /** From the end of the fault to the first write that was acknowledged. */
  recoveryMs: number
}

export interface Result {
  kind: World['kind']
  rounds: Round[]
  statuses: ReadonlyMap<number, number>
  account: Account
  /** Ends of processes that the trial did not cause. */
  ends: string[]
  /** Answers that no caller may get, and the faults in the logs. */
  wrong: string[]
  connections: number
  mails: number
}

const WARM_UP_MS = 1_000
const PROBE_PAUSE_MS = 25
const GIVE_UP_MS = 120_000
const SETTLE_PAUSE_MS = 1_000
/** At the end all clocks go this far ahead, so that every reminder is due … */
const REMINDERS_AHEAD_MS = 180_000
/** … and then this far, so that the files of deleted records and unfinished uploads are swept. */
const SWEEPS_AHEAD_MS = 26 * 3_600_000

export async function runTrial(world: World, faults: readonly Fault[], options: Options): Promise<Result> {
  const ledger = new Ledger()
  let isBroken = false
  const caller = callerOf(world.front, world.stage.session, ledger, () => isBroken)
  const stream = await followEvents(world.front, world.stage.session)
  const load = startLoad(caller, world.stage, ledger, options)
  const rounds: Round[] = []
  try {
    await sleep(WARM_UP_MS)
    // A crash may skip the first ids of events, and the position before the first event then gets a reset.
    await until(stream.hasHeard, 'for the first event', { withinMs: GIVE_UP_MS })
    for (const fault of faults) {
      const endsAt = performance.now() + options.seconds * 1_000
      isBroken = true
      await fault.begin(world)
      await sleep(fault.holdMs)
      await fault.end(world)
      const recoveryMs = await timeToWrite(caller, world.stage.table, ledger)
      rounds.push({ fault, recoveryMs })
      console.log(`${rounds.length}/${faults.length} ${fault.name}: writes again after ${Math.round(recoveryMs)} ms`)
      isBroken = false
      await sleep(Math.max(0, endsAt - performance.now()))
    }
  } finally {
    await heal(world)
  }
  await load.stop()
  const isSettled = await settle(world, ledger, stream, options.settleSeconds)
  const account = await auditOf(world, ledger, stream, isSettled)
  return {
    kind: world.kind,
    rounds,
    statuses: ledger.statuses,
    account,
    ends: world.processes.flatMap((each) => each.ends()),
    wrong: [...ledger.wrong, ...world.processes.flatMap((each) => each.faults())],
    connections: stream.connections(),
    mails: world.sink.size(),
  }
}

async function timeToWrite(caller: Caller, table: number, ledger: Ledger): Promise<number> {
  const since = performance.now()
  let refusal = ''
  const isWritten = async () => {
    const name = `probe ${randomBytes(6).toString('hex')}`
    ledger.records.set(name, {})
    const { status, body } = await caller.send(`/api/table/${table}/records/create`, { data: { name } })
    if (status === 200) ledger.records.set(name, { id: body.id })
    else refusal = `${status} ${JSON.stringify(body)}`
    return status === 200
  }
  await until(isWritten, () => `for writes to work again: ${refusal}`, { withinMs: GIVE_UP_MS, everyMs: PROBE_PAUSE_MS })
  return performance.now() - since
}

/**
 * Lets jobs come to rest: makes reminders, waiting retries and sweeps due at once, instead of waiting for minutes and hours. Ends the
 * stream in between, because a sweep deletes events that are a day old.
 * @returns false if something was left
 */
async function settle(world: World, ledger: Ledger, stream: Stream, seconds: number): Promise<boolean> {
  const boss = new PgBoss({ ...world.postgres.connection, migrate: false, supervise: false, schedule: false, max: 2 })
  boss.on('error', () => {})
  await boss.start()
  const untilQuiet = async (aheadMs: number, queues: readonly string[], isDone: () => boolean) => {
    for (const each of world.processes) each.shiftClock(aheadMs)
    const giveUp = performance.now() + seconds * 1_000
    for (const queue of queues) await boss.send(queue, {})
    while (performance.now() < giveUp) {
      await sleep(SETTLE_PAUSE_MS)
      if (isDone() && (await leftToDo(world)) === 0) return true
      await makeDue(world)
      for (const queue of queues) await boss.send(queue, {})
    }
    return false
  }
  try {
    const isHeard = () => [...ledger.tasks.values()].every(({ id }) => id === undefined || stream.heard(id) > 0)
    const isQuiet = await untilQuiet(REMINDERS_AHEAD_MS, ['tasks.remind', 'notifications.mail'], isHeard)
    await stream.stop()
    return (await untilQuiet(SWEEPS_AHEAD_MS, ['files.sweep', 'files.sweep-leftovers'], () => true)) && isQuiet
  } finally {
    await boss.stop({ graceful: false })
  }
}

/** Makes attempts of jobs and of mails that would wait for hours due. */
async function makeDue({ query }: World): Promise<void> {
  await query(`update pgboss.job set start_after = now() where state in ('created', 'retry') and start_after > now()`)
  await query(`update outbound_emails set due_at = now() at time zone 'UTC' where due_at > now() at time zone 'UTC'`)
}
