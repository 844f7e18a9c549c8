/** What goes wrong. Each fault has a beginning, and an end after which everything has to work again. */
import { readdirSync, readFileSync, renameSync, rmSync, statfsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import { until } from '../../test/support/until.ts'
import type { SmtpTrouble } from './mail-sink.ts'
import { answers } from './own-postgres.ts'
import type { ServiceProcess } from './service-process.ts'
import type { Kind, World } from './world.ts'

export interface Fault {
  name: string
  kinds: readonly Kind[]
  /** True if the database is away or refuses writes: the time until writes work again counts. */
  isOfDatabase: boolean
  holdMs: number
  /** Why it cannot be done here, in words. */
  missing?(world: World): string | undefined
  begin(world: World): Promise<void>
  /** Resolves when what was broken is there again. */
  end(world: World): Promise<void>
}

const pick = <Item>(items: readonly Item[]): Item => items[Math.floor(Math.random() * items.length)] as Item
const untilItAnswers = async ({ postgres }: World): Promise<void> => {
  await until(() => answers(postgres.connection), 'for PostgreSQL to be back', { withinMs: 60_000, everyMs: 10 })
}
/** The embedded PostgreSQL is started by the service, which is part of the trial. */
const startPostgres = (world: World): Promise<void> => (world.kind === 'embedded' ? untilItAnswers(world) : world.postgres.start())
const BACKENDS = `backend_type = 'client backend' and pid <> pg_backend_pid()`

/** Kills one of the processes, and starts it again, as a supervisor does. */
function killed(which: (world: World) => readonly ServiceProcess[]): Pick<Fault, 'begin' | 'end'> {
  let victims: readonly ServiceProcess[] = []
  return {
    async begin(world) {
      victims = which(world)
      await Promise.all(victims.map((victim) => victim.kill()))
    },
    async end() {
      for (const victim of victims) await victim.start()
    },
  }
}

const killPostgres: Pick<Fault, 'kinds' | 'isOfDatabase' | 'begin' | 'end'> = {
  kinds: ['cluster', 'embedded'],
  isOfDatabase: true,
  begin: async ({ postgres }) => postgres.kill(),
  end: startPostgres,
}

/** Longer than what a process still does after its first answer. */
const START_MS = 700

/** Starts a process again, and kills PostgreSQL at some moment after its first answer. */
function lostWithinStart(): Pick<Fault, 'begin' | 'end'> {
  let victim: ServiceProcess
  let starting: Promise<void>
  return {
    async begin({ processes, postgres }) {
      victim = pick(processes)
      await victim.kill()
      starting = victim.start()
      // A start that fails is awaited below.
      starting.catch(() => {})
      const hasAnswered = () =>
        fetch(victim.healthUrl).then(
          ({ ok }) => ok,
          () => false,
        )
      await until(hasAnswered, `for ${victim.name} to answer`, { withinMs: 60_000, everyMs: 5 })
      await sleep(Math.random() * START_MS)
      postgres.kill()
    },
    async end(world) {
      await startPostgres(world)
      // The end of a process within its start is reported; as under a supervisor, it is started again.
      await starting.catch(() => victim.start())
    },
  }
}

const everything = killed(({ processes }) => processes)
let taken: pg.Client[] = []

/** Opens connections until there are no more, those reserved for superusers included. */
async function takeAllConnections({ postgres, query }: World): Promise<void> {
  const take = async () => {
    const client = new pg.Client(postgres.connection)
    client.on('error', () => {})
    await client.connect()
    taken.push(client)
  }
  await query(`select pg_terminate_backend(pid) from pg_stat_activity where ${BACKENDS}`)
  for (let refusals = 0; refusals < 10; ) {
    const results = await Promise.allSettled(Array.from({ length: 20 }, take))
    refusals += results.filter(({ status }) => status === 'rejected').length
  }
}

/** The processes of the server: the postmaster and its children. */
function processesOf(postmaster: number): number[] {
  const children = readdirSync('/proc').filter((name) => {
    try {
      return /^\d+$/.test(name) && Number(readFileSync(`/proc/${name}/stat`, 'utf8').replace(/^.*\)/, '').split(' ')[2]) === postmaster
    } catch {
      return false
    }
  })
  return [postmaster, ...children.map(Number)]
}

let frozen: number[] = []
function signal(pids: readonly number[], name: NodeJS.Signals): void {
  for (const pid of pids) {
    try {
      process.kill(pid, name)
    } catch {
      // A backend has ended in the meantime.
    }
  }
}

const FILLER = 'filler'
function fill(disk: string): void {
  const { bavail, bsize } = statfsSync(disk)
  const block = Buffer.alloc(1_048_576)
  try {
    for (let left = bavail * bsize; left > -block.length; left -= block.length) writeFileSync(join(disk, FILLER), block, { flag: 'a' })
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ENOSPC') throw error
  }
}

const clock = (name: string, minutes: number): Fault => ({
  name,
  kinds: ['cluster', 'embedded'],
  isOfDatabase: false,
  holdMs: 2_000,
  begin: async ({ webs, workers }) => {
    for (const each of new Set([pick(webs), pick(workers)])) each.shiftClock(minutes * 60_000)
  },
  end: async ({ processes }) => {
    for (const each of processes) each.shiftClock(0)
  },
})

const mailServer = (trouble: SmtpTrouble): Fault => ({
  name: `mail server ${trouble}`,
  kinds: ['cluster'],
  isOfDatabase: false,
  holdMs: 1_000,
  begin: async ({ sink }) => sink.fail(trouble),
  end: async ({ sink }) => sink.fail(undefined),
})

export const FAULTS: readonly Fault[] = [
  { name: 'PostgreSQL killed', ...killPostgres, holdMs: 500 },
  { name: 'a web process killed', kinds: ['cluster'], isOfDatabase: false, holdMs: 300, ...killed(({ webs }) => [pick(webs)]) },
  { name: 'a worker killed', kinds: ['cluster'], isOfDatabase: false, holdMs: 300, ...killed(({ workers }) => [pick(workers)]) },
  {
    name: 'all connections ended',
    kinds: ['cluster', 'embedded'],
    isOfDatabase: true,
    holdMs: 0,
    begin: async ({ query }) => void (await query(`select pg_terminate_backend(pid) from pg_stat_activity where ${BACKENDS}`)),
    end: untilItAnswers,
  },
  {
    name: 'PostgreSQL restarted',
    kinds: ['cluster'],
    isOfDatabase: true,
    holdMs: 300,
    begin: ({ postgres }) => postgres.stop(),
    end: startPostgres,
  },
  {
    name: 'a backend killed',
    kinds: ['cluster', 'embedded'],
    isOfDatabase: true,
    holdMs: 0,
    async begin({ query }) {
      const [row] = await query<{ pid: number }>(`select pid from pg_stat_activity where ${BACKENDS} order by random() limit 1`)
      if (row) signal([row.pid], 'SIGKILL')
      // The postmaster notices, ends the other backends and recovers.
      await sleep(100)
    },
    end: untilItAnswers,
  },
  {
    name: 'no free connection',
    kinds: ['cluster'],
    isOfDatabase: true,
    holdMs: 2_500,
    begin: takeAllConnections,
    async end(world) {
      await Promise.all(taken.map((client) => client.end().catch(() => {})))
      taken = []
      await untilItAnswers(world)
    },
  },
  {
    name: 'database read-only',
    kinds: ['cluster', 'embedded'],
    isOfDatabase: true,
    holdMs: 1_500,
    async begin({ query }) {
      await query('alter system set default_transaction_read_only = on')
      await query('select pg_reload_conf()')
    },
    async end({ query }) {
      await query('alter system reset default_transaction_read_only')
      await query('select pg_reload_conf()')
    },
  },
  {
    name: 'PostgreSQL frozen',
    kinds: ['cluster', 'embedded'],
    isOfDatabase: true,
    holdMs: 3_000,
    missing: () => (process.platform === 'linux' ? undefined : 'it needs /proc'),
    async begin({ postgres }) {
      frozen = processesOf(postgres.pid() ?? 0)
      signal(frozen, 'SIGSTOP')
    },
    end: async () => signal(frozen.splice(0), 'SIGCONT'),
  },
  {
    name: 'disk full',
    kinds: ['cluster'],
    isOfDatabase: true,
    holdMs: 1_500,
    missing: ({ disk }) => (disk ? undefined : 'it needs a tmpfs, which only root can mount'),
    begin: async ({ disk }) => fill(disk ?? ''),
    async end({ disk, postgres }) {
      rmSync(join(disk ?? '', FILLER), { force: true })
      // Without space for its log PostgreSQL ends, and an operator starts it again.
      await postgres.start()
    },
  },
  clock('clock ten minutes ahead', 10),
  clock('clock an hour behind', -60),
  mailServer('refuses connections'),
  mailServer('answers 451'),
  mailServer('hangs up'),
  {
    name: 'file storage away',
    kinds: ['cluster', 'embedded'],
    isOfDatabase: false,
    holdMs: 1_000,
    async begin({ storage }) {
      renameSync(storage, `${storage}.away`)
      writeFileSync(storage, '')
    },
    async end({ storage }) {
      rmSync(storage)
      renameSync(`${storage}.away`, storage)
    },
  },
  {
    name: 'the service and PostgreSQL killed',
    kinds: ['cluster'],
    isOfDatabase: true,
    holdMs: 300,
    async begin(world) {
      world.postgres.kill()
      await everything.begin(world)
    },
    async end(world) {
      await world.postgres.start()
      await everything.end(world)
    },
  },
  { name: 'database lost within a start', kinds: ['cluster', 'embedded'], isOfDatabase: true, holdMs: 500, ...lostWithinStart() },
  { name: 'the service killed', kinds: ['embedded'], isOfDatabase: false, holdMs: 300, ...killed(({ processes }) => processes) },
  { name: 'PostgreSQL away for 30 s', ...killPostgres, kinds: ['cluster'], holdMs: 30_000, begin: async ({ postgres }) => postgres.kill() },
]

/** Puts back whatever an interrupted fault has left broken. */
export const heal = (world: World): Promise<unknown> =>
  Promise.allSettled([
    ...taken.splice(0).map((client) => client.end()),
    Promise.resolve(signal(frozen.splice(0), 'SIGCONT')),
    Promise.resolve(world.sink.fail(undefined)),
  ])
