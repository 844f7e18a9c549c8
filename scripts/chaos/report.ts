/** Prints what a trial has shown. */
import type { Options } from './options.ts'
import type { Result, Round } from './trial.ts'

/** How many findings of one kind are printed. */
const MOST_SHOWN = 20

/** @returns true if nothing was violated */
export function printReport(results: readonly Result[], { withinMs }: Options): boolean {
  for (const result of results) printResult(result)
  const ofDatabase = results.flatMap(({ rounds }) => rounds).filter(({ fault }) => fault.isOfDatabase)
  const recovery = median(ofDatabase)
  const isSlow = recovery > withinMs
  const findings = findingsOf(results)
  console.log(`\n| Checked in ${results.reduce((sum, { rounds }) => sum + rounds.length, 0)} rounds | Found | Allowed |\n|---|---:|---:|`)
  for (const [what, list] of Object.entries(findings)) console.log(`| ${what} | ${list.length} | 0 |`)
  console.log(`| milliseconds until writes work again after faults of the database, median | ${Math.round(recovery)} | ${withinMs} |`)
  for (const [what, list] of Object.entries(findings)) {
    if (list.length) console.log(`\n${what}:`)
    for (const finding of list.slice(0, MOST_SHOWN)) console.log(`- ${finding}`)
    if (list.length > MOST_SHOWN) console.log(`- and ${list.length - MOST_SHOWN} more`)
  }
  return !isSlow && Object.values(findings).every((list) => !list.length)
}

function findingsOf(results: readonly Result[]): Record<string, string[]> {
  const all = (of: (result: Result) => readonly string[]) => results.flatMap((result) => of(result))
  return {
    lost: all(({ account }) => account.lost),
    doubled: all(({ account }) => account.doubled),
    orphans: all(({ account }) => account.orphans),
    'invalid indexes': all(({ account }) => account.invalidIndexes),
    'work that did not end': all(({ account }) => account.unfinished),
    'processes that ended by themselves': all(({ ends }) => ends),
    'answers other than success, refusal, or 503 or 507 with Retry-After': all(({ wrong }) => wrong),
  }
}

function printResult({ kind, rounds, statuses, account, connections, mails }: Result): void {
  console.log(`\n${kind === 'embedded' ? 'One process with the embedded PostgreSQL' : 'Web processes and workers'}:\n`)
  console.log('| Fault | Rounds | Writes again, median ms | Slowest ms |\n|---|---:|---:|---:|')
  const names = [...new Set(rounds.map(({ fault }) => fault.name))]
  for (const name of names) {
    const own = rounds.filter(({ fault }) => fault.name === name)
    console.log(
      `| ${name} | ${own.length} | ${Math.round(median(own))} | ${Math.round(Math.max(...own.map(({ recoveryMs }) => recoveryMs)))} |`,
    )
  }
  const byStatus = [...statuses].sort(([a], [b]) => a - b).map(([status, count]) => `${status || 'no answer'}: ${count}`)
  console.log(`\nAnswers: ${byStatus.join(', ')}.`)
  const compared = Object.entries(account.compared).map(([what, count]) => `${count} ${what}`)
  console.log(`Compared: ${compared.join(', ')}; ${mails} mails arrived; the stream of events was opened ${connections} times.`)
  for (const note of account.notes) console.log(`Note: ${note}.`)
}

function median(rounds: readonly Round[]): number {
  const sorted = rounds.map(({ recoveryMs }) => recoveryMs).sort((a, b) => a - b)
  return sorted[Math.floor((sorted.length - 1) / 2)] ?? 0
}
